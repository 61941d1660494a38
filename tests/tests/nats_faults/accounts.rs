//! What is taken from an account while it is used: its password, itself, its streams, its room.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::message::{Message, MessageParts};
use mesh_core::port::{Administration, Connection, ConnectionState, ErrorKind, ReceiveError};
use mesh_core::topology::StreamName;
use mesh_testkit::fixtures::{controller, module};
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_transport_nats::{Source, Target, connect};
use parking_lot::Mutex;

use crate::bed::{self, States};

const TIME: Duration = Duration::from_secs(30);

/// The account with its streams, and `mail` with this password.
fn with(password: &str) -> NatsConfig {
    bed::config(&format!("{{ user: mail, password: \"{password}\" }}"))
}

/// The same account without JetStream, or with other words for it.
fn jetstream(words: &str) -> NatsConfig {
    NatsConfig::new().jetstream().with(format!(
        "accounts {{ MESH {{ {words} users: [ {{ user: {}, password: \"{}\" }} ] }} }}",
        bed::USER,
        bed::PASSWORD
    ))
}

async fn append(from: &Connection, id: &str, timeout: Duration) -> Result<(), ErrorKind> {
    let appending = from.streams().unwrap().append(bed::event(id), bed::appending(id, timeout));
    appending.await.map(drop).map_err(|error| error.kind())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_outlives_its_password_twice_and_its_account_once() {
    let rules = bed::rules(Duration::from_secs(60));
    let server = NatsServer::launch(with("one")).await.unwrap();
    bed::assert(server.address(), &bed::events(&[(bed::mail(), rules)]), 1).await;
    let password = Arc::new(Mutex::new("one"));
    let source = {
        let (password, address) = (Arc::clone(&password), server.address());
        Source::reread(move || {
            let login = bed::login("mail", *password.lock());
            Ok(Target::insecure_loopback(address, login, module("n1", "mail"))?)
        })
    };
    let connection = connect(source, bed::quick()).await.unwrap();
    let states = States::of(&connection);
    let mut events = bed::consume(&connection, bed::mail(), bed::reading(rules, 10)).await;
    append(&connection, "in-hand", TIME).await.unwrap();
    let in_hand = events.next().await.unwrap().unwrap();
    for next in ["two", "three"] {
        let before = states.count();
        server.reload(with(next)).await.unwrap();
        *password.lock() = next;
        states.mended_since(before).await;
        append(&connection, next, TIME).await.unwrap();
        let delivery = events.next().await.unwrap().unwrap();
        assert_eq!((bed::id_of(delivery.message()).as_str(), delivery.info().attempt), (next, 1));
        delivery.ack().await.unwrap();
    }
    in_hand.ack().await.unwrap();
    connection.transport().flush(TIME).await.unwrap();
    assert_eq!(bed::owed(server.address(), &bed::mail()).await, 0);

    let before = states.count();
    let others = "accounts { OTHER { users: [ { user: other, password: other } ] } }";
    server.reload(NatsConfig::new().jetstream().with(others)).await.unwrap();
    let denied = |state: &ConnectionState| match state {
        ConnectionState::Disconnected(error) => error.kind() == ErrorKind::Denied,
        _ => false,
    };
    bed::until("the refusal", || states.told()[before..].iter().any(denied).then_some(())).await;
    let late = append(&connection, "late", Duration::from_millis(300)).await;
    assert_eq!(late, Err(ErrorKind::Disconnected));
    // A server to which an account comes back finds its streams when it starts.
    server.configure(with("three")).unwrap();
    server.restart().await.unwrap();
    states.mended_since(before).await;
    append(&connection, "back", TIME).await.unwrap();
    let delivery = events.next().await.unwrap().unwrap();
    assert_eq!(bed::id_of(delivery.message()), "back");
    delivery.ack().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_are_switched_off_under_their_users_are_told_as_gone_and_used_when_back() {
    let rules = bed::rules(Duration::from_secs(3));
    let server = bed::server_with_mail(rules).await;
    let mail = bed::dial(server.address(), module("n1", "mail")).await;
    let newcomer = bed::dial(server.address(), module("n1", "crm")).await;
    let controller = bed::dial(server.address(), controller()).await;
    let administration: &Arc<dyn Administration> = controller.administration().unwrap();
    let mut events = bed::consume(&mail, bed::mail(), bed::reading(rules, 10)).await;
    append(&mail, "before", TIME).await.unwrap();
    events.next().await.unwrap().unwrap().ack().await.unwrap();

    server.reload(jetstream("")).await.unwrap();
    let short = Duration::from_secs(2);
    let (known, unknown) =
        tokio::join!(append(&mail, "known", short), append(&newcomer, "unknown", short));
    assert_eq!((known, unknown), (Err(ErrorKind::TimedOut), Err(ErrorKind::NotFound)));
    match tokio::time::timeout(TIME, events.next()).await.expect("its end") {
        Some(Err(ReceiveError::Ended(error))) => assert_eq!(error.kind(), ErrorKind::NotFound),
        other => panic!("{other:?}"),
    }
    let error = administration.inspect(StreamName::Events).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");

    server.reload(bed::config("")).await.unwrap();
    append(&mail, "after", TIME).await.unwrap();
    let mut events = bed::consume(&mail, bed::mail(), bed::reading(rules, 10)).await;
    assert_eq!(bed::id_of(events.next().await.unwrap().unwrap().message()), "after");
}

#[tokio::test]
async fn a_server_without_streams_is_unsupported() {
    let user = format!("user: {}, password: \"{}\"", bed::USER, bed::PASSWORD);
    let users = format!("accounts {{ MESH {{ users: [ {{ {user} }} ] }} }}");
    let server = NatsServer::launch(NatsConfig::new().with(users)).await.unwrap();
    let controller = bed::dial(server.address(), controller()).await;
    let administration = controller.administration().unwrap();
    let error = administration.inspect(StreamName::Events).await.unwrap_err();
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Unsupported, false), "{error}");
}

#[tokio::test]
async fn an_account_without_room_is_told_at_once_and_appends_go_on_when_there_is_some() {
    let server = NatsServer::launch(jetstream("jetstream: { max_file: 300KB },")).await.unwrap();
    let context = bed::jetstream(server.address()).await;
    let config = async_nats::jetstream::stream::Config {
        name: "EVENTS".to_owned(),
        subjects: vec!["mesh.events.*.>".to_owned()],
        ..<_>::default()
    };
    let stream = context.create_stream(config).await.unwrap();
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let streams = connection.streams().unwrap();
    let large = |id: &str| -> Message {
        MessageParts { payload: vec![b'x'; 8 << 10].into(), ..bed::event(id).into_parts() }.into()
    };
    let mut stored = 0;
    let full = loop {
        let id = format!("event-{stored}");
        match streams.append(large(&id), bed::appending(&id, TIME)).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(full.kind(), ErrorKind::Full, "{full}");
    assert!(full.may_retry() && stored > 10, "{stored} were stored");
    stream.purge().await.unwrap();
    streams.append(large("after"), bed::appending("after", TIME)).await.unwrap();
}
