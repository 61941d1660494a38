//! What is another when a connection is made again: limits, credentials, certificates.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::message::{Headers, Message, MessageParts};
use mesh_core::port::{ConnectionState, ErrorKind, PublishOptions, ReceiveError};
use mesh_testkit::fixtures::{filter, header, message, module, subject};
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_transport_nats::{Source, connect};
use parking_lot::Mutex;

use crate::bed::{self, States};

const TIME: Duration = Duration::from_secs(20);
const SUBJECT: &str = "mesh.tools.mail.open";

fn of_size(bytes: usize) -> Message {
    Message::new(subject(SUBJECT), vec![b'x'; bytes])
}

fn event_of_size(id: &str, bytes: usize) -> Message {
    let payload = vec![b'x'; bytes].into();
    MessageParts { payload, ..bed::event(id).into_parts() }.into()
}

#[tokio::test]
async fn a_smaller_limit_after_a_restart_refuses_one_message_and_keeps_the_connection() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    bed::assert(server.address(), &bed::events(&[]), 1).await;
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let states = States::of(&connection);
    let transport = connection.transport();
    let told = transport.capabilities().limits().max_payload;
    let options = || PublishOptions { timeout: TIME, ..<_>::default() };
    transport.publish(of_size(told), options()).await.unwrap();

    server.configure(bed::config("").max_payload(200_000)).unwrap();
    server.restart().await.unwrap();
    states.mended().await;
    // What was promised stays, and what the server can't take is refused before it is sent.
    assert_eq!(transport.capabilities().limits().max_payload, told);
    let before = states.count();
    for bytes in [200_001, 300_000, told] {
        let error = transport.publish(of_size(bytes), options()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        let id = format!("event-{bytes}");
        let event = event_of_size(&id, bytes);
        let appending = connection.streams().unwrap().append(event, bed::appending(&id, TIME));
        assert_eq!(appending.await.unwrap_err().kind(), ErrorKind::TooLarge);
        transport.publish(of_size(200_000), options()).await.unwrap();
    }
    // Headers count too: together they are above, each of them is not.
    let id = "event-headers";
    let event = event_of_size(id, 200_000 - 10);
    let appending = connection.streams().unwrap().append(event, bed::appending(id, TIME));
    assert_eq!(appending.await.unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(states.count(), before, "the connection was never lost: {:?}", states.told());

    server.configure(bed::config("")).unwrap();
    server.restart().await.unwrap();
    states.mended_since(before).await;
    transport.publish(of_size(told), options()).await.unwrap();
}

#[tokio::test]
async fn what_the_limits_allow_in_payload_and_headers_together_is_sent() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let states = States::of(&connection);
    let limits = *connection.transport().capabilities().limits();
    let heard = connection.transport().subscribe(filter(SUBJECT), <_>::default());
    let mut heard = heard.await.unwrap();
    // Few large headers, and many small ones.
    for most in [8000, 20] {
        let mut headers = Headers::default();
        let mut left = limits.max_header_bytes;
        while left > 0 {
            let name = format!("h{:06}", headers.len());
            let around = name.len() + 4;
            let next = if left >= 2 * most { most } else { left };
            let (name, value) = header(&name, &"v".repeat(next - around));
            headers.append(name, value);
            left -= next;
        }
        let (count, sent) = (headers.len(), of_size(limits.max_payload).with_headers(headers));
        connection.transport().publish(sent, <_>::default()).await.unwrap();
        let found = heard.next().await.unwrap().unwrap();
        assert_eq!((found.payload().len(), found.headers().len()), (limits.max_payload, count));
    }
    assert_eq!(states.count(), 1, "{:?}", states.told());
}

#[tokio::test]
async fn a_credential_that_was_rotated_is_used_when_the_connection_is_made_again() {
    let users = |password: &str| {
        NatsConfig::new().with(format!(
            "accounts {{ MESH {{ users: [ {{ user: mail, password: \"{password}\" }} ] }} }}"
        ))
    };
    let certificate = Certificate::local().unwrap();
    let config = |password| users(password).tls(certificate.clone());
    let server = NatsServer::launch(config("0ld-secret")).await.unwrap();
    let pin = server.fingerprint().unwrap();
    let password = Arc::new(Mutex::new("0ld-secret".to_owned()));
    let source = {
        let (password, address, pin) = (password.clone(), server.address(), pin.clone());
        Source::reread(move || Ok(bed::pinned(address, "mail", &password.lock(), &[&pin])))
    };
    let connection = connect(source, bed::quick()).await.unwrap();
    let states = States::of(&connection);
    let mut heard =
        connection.transport().subscribe(filter(SUBJECT), <_>::default()).await.unwrap();

    // The server drops whoever has the old one.
    server.reload(config("n3w-secret")).await.unwrap();
    let refused = |state: &ConnectionState| match state {
        ConnectionState::Disconnected(error) => error.kind() == ErrorKind::Denied,
        _ => false,
    };
    states.any("the refusal of the old password", refused).await;
    *password.lock() = "n3w-secret".to_owned();
    states.mended().await;
    connection.transport().publish(message(SUBJECT, "new"), <_>::default()).await.unwrap();
    assert!(matches!(heard.next().await, Some(Err(ReceiveError::Interrupted))));
    assert_eq!(heard.next().await.unwrap().unwrap().payload().as_ref(), b"new");
    let told = format!("{:?}", states.told());
    assert!(!told.contains("0ld-secret") && !told.contains("n3w-secret"), "{told}");
    println!("{told}");
}

#[tokio::test]
async fn a_credential_that_becomes_anothers_is_not_used() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let who = Arc::new(Mutex::new("mail"));
    let source = {
        let (who, address) = (who.clone(), server.address());
        Source::reread(move || Ok(bed::target(address, module("n1", &who.lock()), bed::USER)))
    };
    let connection = connect(source, bed::quick()).await.unwrap();
    let states = States::of(&connection);
    *who.lock() = "crm";
    server.restart().await.unwrap();
    let named = |state: &ConnectionState| format!("{state:?}").contains("crm");
    states.any("the other's name", named).await;
    *who.lock() = "mail";
    states.mended().await;
}

#[tokio::test]
async fn another_certificate_is_refused_and_named_until_the_pinned_one_is_back() {
    let (own, other) = (Certificate::local().unwrap(), Certificate::local().unwrap());
    let config = |certificate: &Certificate| {
        NatsConfig::new().tls(certificate.clone()).with(format!(
            "accounts {{ MESH {{ users: [ {{ user: mail, password: \"{}\" }} ] }} }}",
            bed::PASSWORD
        ))
    };
    let server = NatsServer::launch(config(&own)).await.unwrap();
    let target =
        bed::pinned(server.address(), "mail", bed::PASSWORD, &[own.fingerprint().as_str()]);
    let connection = connect(target, bed::quick()).await.unwrap();
    let states = States::of(&connection);
    let mut heard =
        connection.transport().subscribe(filter(SUBJECT), <_>::default()).await.unwrap();

    server.configure(config(&other)).unwrap();
    server.restart().await.unwrap();
    let named = |state: &ConnectionState| match state {
        ConnectionState::Disconnected(error) => {
            error.kind() == ErrorKind::Denied && error.to_string().contains(&other.fingerprint())
        }
        _ => false,
    };
    states.any("the other certificate's fingerprint", named).await;
    // A call says why, too, and in time.
    let options = PublishOptions { timeout: Duration::from_millis(300), ..<_>::default() };
    let error = connection.transport().publish(message(SUBJECT, ""), options).await.unwrap_err();
    println!("{error}");
    assert_eq!(error.kind(), ErrorKind::Disconnected);
    assert!(error.to_string().contains(&other.fingerprint()), "{error}");
    // One that is about to see the certificate may be there; who logs in says what its client is.
    let logged_in = async || {
        let connz = server.connz().await.unwrap();
        let connections = connz["connections"].as_array().cloned().unwrap_or_default();
        connections.iter().filter(|connection| connection["lang"].is_string()).count()
    };
    assert_eq!(logged_in().await, 0);

    server.configure(config(&own)).unwrap();
    server.restart().await.unwrap();
    states.mended().await;
    connection.transport().publish(message(SUBJECT, "back"), <_>::default()).await.unwrap();
    assert!(matches!(heard.next().await, Some(Err(ReceiveError::Interrupted))));
    assert_eq!(heard.next().await.unwrap().unwrap().payload().as_ref(), b"back");
    assert_eq!(logged_in().await, 1);
}
