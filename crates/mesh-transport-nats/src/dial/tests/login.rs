//! Who one says to be, to what kind of server, and what comes of it.

use mesh_core::credential::{Fingerprint, Login, Secret};
use mesh_core::identity::Principal;
use mesh_core::port::ErrorKind;
use tokio::net::TcpSocket;

use super::super::ServerFacts;
use super::fake::{Fake, Script, Tls, target};
use super::{dialled, impatient, refused};
use crate::{NatsOptions, Target};

#[tokio::test]
async fn url_credentials_are_used_and_decoded() {
    let fake = Fake::start(Script::default()).await;
    let dialled = dialled(&fake.target("host-a:p%40ss", &fake.pin)).await.unwrap();

    let connect = fake.connect();
    assert_eq!((&connect["user"], &connect["pass"]), (&"host-a".into(), &"p@ss".into()));
    assert_eq!(connect["name"], "module mail on n1");
    assert_eq!(connect["tls_required"], true);
    assert_eq!(
        dialled.server,
        ServerFacts {
            version: (2, 12, 6),
            max_payload: 1234,
            server_id: "ID".into(),
            server_name: "fake".into(),
            cluster: Some("c".into()),
        }
    );
    assert!(dialled.client.new_inbox().starts_with("_INBOX.mail.n1.ack."));
}

#[tokio::test]
async fn a_name_is_looked_up() {
    let fake = Fake::start(Script::default()).await;
    let address = format!("localhost:{}", fake.address.port());
    dialled(&target(&address, "u:p", &fake.pin)).await.unwrap();
    assert_eq!(fake.connect()["user"], "u");
}

#[tokio::test]
async fn this_machine_is_reached_without_tls_where_a_test_asks_for_it() {
    let fake = Fake::start(Script { tls: Tls::Never, ..Script::default() }).await;
    let login = Login::new("u", Secret::new("p%40ss")).unwrap();
    let principal = Principal::Host { node: "n1".parse().unwrap() };
    let target = Target::insecure_loopback(fake.address, login, principal).unwrap();
    let dialled = dialled(&target).await.unwrap();
    let connect = fake.connect();
    assert_eq!((&connect["pass"], &connect["tls_required"]), (&"p%40ss".into(), &false.into()));
    assert!(dialled.client.new_inbox().starts_with("_INBOX.host.n1.ack."));
}

#[tokio::test]
async fn a_refused_log_in_is_denied() {
    let answer = Some("-ERR 'Authorization Violation'\r\n");
    let fake = Fake::start(Script { answer, ..Script::default() }).await;
    let error = refused(&fake.target("u:hunter2", &fake.pin), &NatsOptions::default()).await;
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Denied, false), "{error}");
    assert!(error.to_string().contains("module mail on n1"), "{error}");
    assert_eq!(fake.accepted(), 1);
}

#[tokio::test]
async fn a_full_server_may_have_room_later() {
    let answer = Some("-ERR 'maximum connections exceeded'\r\n");
    let fake = Fake::start(Script { answer, ..Script::default() }).await;
    let error = refused(&fake.target("u:hunter2", &fake.pin), &NatsOptions::default()).await;
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Broker, true), "{error}");
    assert!(error.to_string().contains("maximum connections exceeded"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_too_old_is_refused_and_left() {
    for (version, says) in [
        ("2.9.10", "the server is nats-server 2.9.10, needed is 2.11.15, 2.12.6 or newer"),
        ("2.11.14", "2.11.14"),
        ("2.12.6-RC.1", "2.12.6-RC.1"),
        ("newest", r#""newest", which is none"#),
    ] {
        let fake = Fake::start(Script { version, ..Script::default() }).await;
        let error = refused(&fake.target("u:hunter2", &fake.pin), &NatsOptions::default()).await;
        assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Unsupported, false), "{error}");
        assert!(error.to_string().contains(says), "{error}");
        fake.ended(1).await;
        assert_eq!(fake.accepted(), 1);
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_the_log_in_is_not_waited_for_longer_than_told() {
    let fake = Fake::start(Script { answer: None, ..Script::default() }).await;
    let error = refused(&fake.target("u:hunter2", &fake.pin), &impatient()).await;
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::TimedOut, true), "{error}");
    assert!(error.to_string().contains("didn't answer the log-in within 3s"), "{error}");
    fake.ended(1).await;
}

#[tokio::test]
async fn an_absent_server_may_come_back() {
    // Bound, so that the port is nobody else's, but not listening.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let absent = target(&address, "u:hunter2", &Fingerprint::from_bytes([7; 32]));
    let error = refused(&absent, &NatsOptions::default()).await;
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Disconnected, true), "{error}");
}

#[tokio::test]
async fn options_without_sense_reach_nobody() {
    let fake = Fake::start(Script::default()).await;
    let options = NatsOptions { ping_interval: std::time::Duration::ZERO, ..Default::default() };
    let error = refused(&fake.target("u:hunter2", &fake.pin), &options).await;
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Invalid, false), "{error}");
    assert_eq!(fake.accepted(), 0);
}
