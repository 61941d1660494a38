//! Who one says to be, to what kind of server, and what comes of it.

use mesh_core::credential::{Login, Secret};
use mesh_core::identity::Principal;
use mesh_core::port::ErrorKind;
use mesh_testkit::servers::nats::{FakeConfig, Heard};
use tokio::net::TcpSocket;

use super::super::ServerFacts;
use super::{dialled, fake, impatient, refused, secured, target, target_of};
use crate::{NatsOptions, Target};

#[tokio::test]
async fn url_credentials_are_used_and_decoded() {
    let server = secured().version("2.12.6").info("max_payload", 1234).info("cluster", "c");
    let fake = fake(server).await;
    let target = target(&fake.address(), "host-a:p%40ss", fake.fingerprint().unwrap());
    let dialled = dialled(&target).await.unwrap();

    let connect = fake.connect_fields().await.unwrap();
    assert_eq!((&connect["user"], &connect["pass"]), (&"host-a".into(), &"p@ss".into()));
    assert_eq!(connect["name"], "module mail on n1");
    assert_eq!(connect["tls_required"], true);
    assert_eq!(
        dialled.server,
        ServerFacts {
            version: (2, 12, 6),
            max_payload: 1234,
            server_id: "FAKE".into(),
            server_name: "fake".into(),
            cluster: Some("c".into()),
        }
    );
    assert!(dialled.client.new_inbox().starts_with("_INBOX.mail.n1.ack."));
}

#[tokio::test]
async fn a_name_is_looked_up() {
    let fake = fake(secured()).await;
    let address = format!("localhost:{}", fake.address().port());
    dialled(&target(&address, "u:p", fake.fingerprint().unwrap())).await.unwrap();
    assert_eq!(fake.connect_fields().await.unwrap()["user"], "u");
}

#[tokio::test]
async fn this_machine_is_reached_without_tls_where_a_test_asks_for_it() {
    let fake = fake(FakeConfig::new()).await;
    let login = Login::new("u", Secret::new("p%40ss")).unwrap();
    let principal = Principal::Host { node: "n1".parse().unwrap() };
    let target = Target::insecure_loopback(fake.address(), login, principal).unwrap();
    let dialled = dialled(&target).await.unwrap();
    let connect = fake.connect_fields().await.unwrap();
    assert_eq!((&connect["pass"], &connect["tls_required"]), (&"p%40ss".into(), &false.into()));
    assert!(dialled.client.new_inbox().starts_with("_INBOX.host.n1.ack."));
}

#[tokio::test]
async fn what_the_server_says_to_a_log_in_decides_the_kind() {
    for (reason, kind, may_retry, says) in [
        ("Authorization Violation", ErrorKind::Denied, false, "the log-in of module mail on n1"),
        ("maximum connections exceeded", ErrorKind::Broker, true, "maximum connections exceeded"),
        ("Authentication Timeout", ErrorKind::TimedOut, true, "Authentication Timeout"),
    ] {
        let fake = fake(secured().refuse(reason)).await;
        let error = refused(&target_of(&fake), &NatsOptions::default(), kind, may_retry).await;
        assert!(error.contains(says), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_is_too_old_is_refused_and_left() {
    for (version, says) in [
        ("2.9.10", "the server is nats-server 2.9.10, needed is 2.11.15, 2.12.6 or newer"),
        ("2.11.14", "2.11.14"),
        ("2.12.6-RC.1", "2.12.6-RC.1"),
        ("newest", r#""newest", which is none"#),
    ] {
        let fake = fake(secured().version(version)).await;
        let (options, kind) = (NatsOptions::default(), ErrorKind::Unsupported);
        let error = refused(&target_of(&fake), &options, kind, false).await;
        assert!(error.contains(says), "{error}");
        let visit = fake.whole_visit().await.unwrap();
        assert_eq!(visit.last(), Some(&Heard::Closed(1)));
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_the_log_in_is_not_waited_for_longer_than_told() {
    let fake = fake(secured().pongs(0)).await;
    let error = refused(&target_of(&fake), &impatient(), ErrorKind::TimedOut, true).await;
    assert!(error.contains("didn't answer the log-in within 3s"), "{error}");
    let visit = fake.whole_visit().await.unwrap();
    assert_eq!(visit.last(), Some(&Heard::Closed(1)));
}

#[tokio::test]
async fn an_absent_server_may_come_back() {
    // Bound, so that the port is nobody else's, but not listening.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let absent = target(&socket.local_addr().unwrap(), "u:hunter2", &"ab".repeat(32));
    refused(&absent, &NatsOptions::default(), ErrorKind::Disconnected, true).await;
}

#[tokio::test]
async fn options_without_sense_reach_nobody() {
    let fake = fake(secured()).await;
    let options = NatsOptions { ping_interval: std::time::Duration::ZERO, ..Default::default() };
    let error = refused(&target_of(&fake), &options, ErrorKind::Invalid, false).await;
    assert!(error.contains("ping_interval"), "{error}");
    // The first who comes is the one who means it.
    dialled(&target_of(&fake)).await.unwrap();
    assert_eq!(fake.heard().await.unwrap(), Heard::Opened(1));
    assert_eq!(fake.connect_fields().await.unwrap()["user"], "u");
}
