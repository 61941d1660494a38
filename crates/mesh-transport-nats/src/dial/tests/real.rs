//! Real servers: that they are as the fake one plays, and say what is expected of them.

use std::time::Duration;

use async_nats::{Event, ServerError};
use mesh_core::port::ErrorKind;
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{HandshakeFirst, NatsConfig, NatsServer};
use tokio::sync::mpsc::UnboundedReceiver;

use super::super::dial;
use super::{dialled, impatient, listening, refused, soon, target, tls_first};
use crate::events::{Denial, Notice};
use crate::{NatsOptions, Target};

const USERS: &str = r#"
    accounts { A { users: [ { user: "mail", password: "m@l", permissions: {
        publish: { allow: ["a.*"] }, subscribe: { allow: ["w.>", "a.b", "s.* g"] }
    } } ] } }"#;

async fn server(config: NatsConfig) -> NatsServer {
    NatsServer::launch(config).await.unwrap()
}

fn secured() -> NatsConfig {
    NatsConfig::new().tls(Certificate::local().unwrap())
}

fn target_of(server: &NatsServer) -> Target {
    target(&server.address(), "mail:m%40l", &server.fingerprint().unwrap())
}

#[tokio::test]
async fn a_real_server_lets_in_who_has_the_password() {
    let server = server(secured().with(USERS).max_payload(77_777)).await;
    let facts = dialled(&target_of(&server)).await.unwrap().server;
    let varz = server.varz().await.unwrap();
    let (major, minor, patch) = facts.version;
    assert_eq!(varz["version"], format!("{major}.{minor}.{patch}"));
    assert_eq!((facts.max_payload, facts.server_name.as_str()), (77_777, server.name()));

    let wrong = target(&server.address(), "mail:hunter2", &server.fingerprint().unwrap());
    let error = refused(&wrong, &NatsOptions::default(), ErrorKind::Denied, false).await;
    assert!(error.contains("refused the log-in of module mail on n1"), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_never_hears_the_password() {
    let server = server(NatsConfig::new()).await;
    let target = target(&server.address(), "mail:m%40l", &"07".repeat(32));
    let error = refused(&target, &NatsOptions::default(), ErrorKind::Denied, false).await;
    assert!(error.contains("has no TLS; the log-in was not sent"), "{error}");
}

#[tokio::test]
async fn tls_first_that_only_the_server_expects_is_named() {
    let first = server(secured().with(USERS).handshake_first(HandshakeFirst::Yes)).await;
    dial(&target_of(&first), &tls_first(), listening().0).await.unwrap();
    let error = refused(&target_of(&first), &impatient(), ErrorKind::TimedOut, true).await;
    assert!(error.contains("expects TLS first and the option tls_first is not set"), "{error}");
}

#[tokio::test]
async fn a_server_that_waits_a_little_for_tls_takes_both() {
    let patient = HandshakeFirst::Within(Duration::from_millis(300));
    let server = server(secured().with(USERS).handshake_first(patient)).await;
    dialled(&target_of(&server)).await.unwrap();
}

#[tokio::test]
async fn a_full_server_may_have_room_later() {
    let limited = USERS.replacen("{ users", "{ limits { max_connections: 1 }, users", 1);
    let server = server(secured().with(limited)).await;
    let _first = dialled(&target_of(&server)).await.unwrap();
    let (options, kind) = (NatsOptions::default(), ErrorKind::Broker);
    let error = refused(&target_of(&server), &options, kind, true).await;
    assert!(error.contains("maximum account active connections exceeded"), "{error}");
}

#[tokio::test]
async fn a_killed_server_that_is_back_is_not_dialled_again() {
    let server = server(secured().with(USERS)).await;
    let (events, mut heard) = listening();
    let mut dialled = dial(&target_of(&server), &NatsOptions::default(), events).await.unwrap();
    server.kill().unwrap();
    soon(dialled.lost.wait()).await;
    server.start().await.unwrap();
    while soon(heard.recv()).await.is_some() {}
    let all = server.monitor("/connz?state=all").await.unwrap().to_string();
    assert!(all.contains("connections") && !all.contains("module mail on n1"), "{all}");
}

/// The next thing that the server complains about.
async fn complaint(events: &mut UnboundedReceiver<Event>) -> String {
    loop {
        if let Event::ServerError(ServerError::Other(text)) = soon(events.recv()).await.unwrap() {
            return text;
        }
    }
}

#[tokio::test]
async fn what_a_real_server_denies_is_read() {
    let server = server(secured().with(USERS)).await;
    let (events, mut heard) = listening();
    let dialled = dial(&target_of(&server), &NatsOptions::default(), events).await.unwrap();
    let client = dialled.client;

    client.publish(r#"x."q"\é"#, "".into()).await.unwrap();
    let text = complaint(&mut heard).await;
    assert_eq!(Denial::parse(&text), Some(Denial::Publish(r#"x."q"\é"#.into())), "{text}");

    client.publish_with_reply("a.b", "$JS.ACK.x", "".into()).await.unwrap();
    let text = complaint(&mut heard).await;
    assert_eq!(Denial::parse(&text), Some(Denial::Reply("$JS.ACK.x".into())), "{text}");

    let _denied = client.subscribe("x.>").await.unwrap();
    let text = complaint(&mut heard).await;
    let denial = Denial::Subscription { subject: "x.>".into(), queue: None, revoked: false };
    assert_eq!(Denial::parse(&text), Some(denial), "{text}");

    let _denied = client.queue_subscribe("s.t", "h".into()).await.unwrap();
    let text = complaint(&mut heard).await;
    let queue = Some("h".into());
    let denial = Denial::Subscription { subject: "s.t".into(), queue, revoked: false };
    assert_eq!(Denial::parse(&text), Some(denial), "{text}");

    let _invalid = client.subscribe("w.>.probe").await.unwrap();
    assert_eq!(Notice::parse(&complaint(&mut heard).await), Notice::InvalidSubject);
}

#[tokio::test]
async fn a_right_that_a_reload_takes_away_is_read() {
    let certificate = Certificate::local().unwrap();
    let config = NatsConfig::new().tls(certificate);
    let server = server(config.clone().with(USERS)).await;
    let (events, mut heard) = listening();
    let dialled = dial(&target_of(&server), &NatsOptions::default(), events).await.unwrap();
    let client = dialled.client;
    let _plain = client.subscribe("a.b").await.unwrap();
    let _queue = client.queue_subscribe("s.t", "g".into()).await.unwrap();
    // A complaint shows that the server has handled what came before it.
    let _denied = client.subscribe("x").await.unwrap();
    complaint(&mut heard).await;

    server.reload(config.with(USERS.replace(r#""w.>", "a.b", "s.* g""#, r#""c""#))).await.unwrap();
    let mut revoked = [complaint(&mut heard).await, complaint(&mut heard).await];
    revoked.sort();
    let [plain, queue] = revoked.each_ref().map(|text| Denial::parse(text).unwrap());
    let (subject, group) = ("a.b".into(), None);
    assert_eq!(plain, Denial::Subscription { subject, queue: group, revoked: true });
    let (subject, group) = ("s.t".into(), Some("g".into()));
    assert_eq!(queue, Denial::Subscription { subject, queue: group, revoked: true });
}
