//! Whom the password is told.

use mesh_core::credential::Fingerprint;
use mesh_core::port::{ErrorKind, TransportError};

use super::fake::{Fake, Script, Tls};
use super::{dialled, impatient, refused};
use crate::NatsOptions;

fn tls_first() -> NatsOptions {
    NatsOptions { tls_first: true, ..NatsOptions::default() }
}

/// It was refused for good, and heard nothing that it should not.
fn denied(fake: &Fake, error: &TransportError) {
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Denied, false), "{error}");
    heard_nothing(fake);
}

fn heard_nothing(fake: &Fake) {
    let wire = String::from_utf8_lossy(&fake.wire()).into_owned();
    let heard = format!("{wire}{}", fake.said());
    assert!(!heard.contains("CONNECT") && !heard.contains("hunter2"), "{heard}");
}

#[tokio::test]
async fn the_password_crosses_the_wire_only_encrypted() {
    let fake = Fake::start(Script::default()).await;
    dialled(&fake.target("u:hunter2", &fake.pin)).await.unwrap();
    let wire = fake.wire();
    assert!(!wire.is_empty() && !wire.windows(7).any(|part| part == b"hunter2"));
    assert_eq!(fake.connect()["pass"], "hunter2");
}

#[tokio::test]
async fn another_certificate_is_refused_before_the_log_in() {
    for tls in [Tls::AfterGreeting, Tls::First] {
        let fake = Fake::start(Script { tls, ..Script::default() }).await;
        let pin = Fingerprint::from_bytes([7; 32]);
        let options = NatsOptions { tls_first: tls == Tls::First, ..NatsOptions::default() };
        let error = refused(&fake.target("u:hunter2", &pin), &options).await;
        denied(&fake, &error);
        let says = format!("the server's certificate is {}, pinned is {pin}", fake.pin);
        assert!(error.to_string().contains(&says), "{error}");
        fake.ended(1).await;
        heard_nothing(&fake);
        assert_eq!(fake.accepted(), 1);
    }
}

#[tokio::test]
async fn a_replayed_certificate_is_refused_before_the_log_in() {
    let fake = Fake::start(Script { stolen: true, ..Script::default() }).await;
    let error = refused(&fake.target("u:hunter2", &fake.pin), &NatsOptions::default()).await;
    denied(&fake, &error);
    assert!(error.to_string().contains("without holding its key"), "{error}");
    fake.ended(1).await;
    heard_nothing(&fake);
}

#[tokio::test]
async fn an_impostor_without_tls_never_hears_the_password() {
    let fake = Fake::start(Script { tls: Tls::Never, ..Script::default() }).await;
    let error = refused(&fake.target("u:hunter2", &fake.pin), &NatsOptions::default()).await;
    denied(&fake, &error);
    assert!(error.to_string().contains("has no TLS; the log-in was not sent"), "{error}");

    let fake = Fake::start(Script { tls: Tls::Never, answer: None, ..Script::default() }).await;
    let error = refused(&fake.target("u:hunter2", &fake.pin), &impatient()).await;
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    fake.ended(1).await;
    heard_nothing(&fake);
}

#[tokio::test]
async fn tls_first_is_spoken_where_both_sides_agree() {
    let fake = Fake::start(Script { tls: Tls::First, ..Script::default() }).await;
    let target = fake.target("u:hunter2", &fake.pin);
    super::dial(&target, &tls_first(), super::fake::listening().0).await.unwrap();
    assert_eq!(fake.connect()["pass"], "hunter2");
}

#[tokio::test]
async fn tls_first_that_only_the_server_expects_is_named() {
    let fake = Fake::start(Script { tls: Tls::First, ..Script::default() }).await;
    let error = refused(&fake.target("u:hunter2", &fake.pin), &impatient()).await;
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::TimedOut, true), "{error}");
    assert!(error.to_string().contains("expects TLS first and the option tls_first"), "{error}");
    heard_nothing(&fake);
}

#[tokio::test]
async fn tls_first_that_only_the_client_expects_is_named() {
    for tls in [Tls::AfterGreeting, Tls::Never] {
        let fake = Fake::start(Script { tls, ..Script::default() }).await;
        let error = refused(&fake.target("u:hunter2", &fake.pin), &tls_first()).await;
        denied(&fake, &error);
        assert!(error.to_string().contains("the option tls_first is set"), "{error}");
    }
}
