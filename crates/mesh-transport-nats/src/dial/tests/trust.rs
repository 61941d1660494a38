//! Whom the password is told.

use mesh_core::port::ErrorKind;
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{FakeConfig, Heard};

use super::super::dial;
use super::{
    dialled, fake, heard_no_log_in, impatient, listening, refused, secured, target, target_of,
    tls_first,
};
use crate::NatsOptions;

#[tokio::test]
async fn the_log_in_comes_after_the_handshake() {
    let fake = fake(secured()).await;
    dialled(&target_of(&fake)).await.unwrap();
    assert_eq!(fake.heard().await.unwrap(), Heard::Opened(1));
    assert_eq!(fake.heard().await.unwrap(), Heard::Secured);
    let Heard::Connect(fields) = fake.heard().await.unwrap() else { panic!("no CONNECT") };
    assert_eq!(fields["pass"], "hunter2");
}

#[tokio::test]
async fn another_certificate_is_refused_before_the_log_in() {
    let pin = "07".repeat(32);
    for (server, options) in
        [(secured(), NatsOptions::default()), (secured().handshake_first(), tls_first())]
    {
        let fake = fake(server).await;
        let target = target(&fake.address(), "u:hunter2", &pin);
        let error = refused(&target, &options, ErrorKind::Denied, false).await;
        let presented = fake.fingerprint().unwrap();
        let says = format!("the server's certificate is {presented}, pinned is {pin}");
        assert!(error.contains(&says), "{error}");
        let visit = heard_no_log_in(&fake).await;
        assert!(matches!(visit[1], Heard::Unsecured(_)), "{visit:?}");
    }
}

#[tokio::test]
async fn the_next_certificate_is_accepted_while_both_are_pinned() {
    let fake = fake(secured()).await;
    let two = format!(r#"{}", "{}"#, "07".repeat(32), fake.fingerprint().unwrap());
    let url = format!("tls://u:p@{}", fake.address());
    let document =
        format!(r#"{{"url": "{url}", "fingerprint": ["{two}"], "node": "n1", "module": "mail"}}"#);
    let credential = mesh_core::credential::Credential::parse(document).unwrap();
    dialled(&crate::Target::of(&credential).unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_replayed_certificate_is_refused_before_the_log_in() {
    let stolen = Certificate::local().unwrap().with_wrong_key().unwrap();
    let fake = fake(FakeConfig::new().tls(stolen)).await;
    let options = NatsOptions::default();
    let error = refused(&target_of(&fake), &options, ErrorKind::Denied, false).await;
    assert!(error.contains("without holding its key"), "{error}");
    heard_no_log_in(&fake).await;
}

#[tokio::test]
async fn an_impostor_without_tls_never_hears_the_password() {
    let fake = fake(FakeConfig::new()).await;
    let target = target(&fake.address(), "u:hunter2", &"07".repeat(32));
    refused(&target, &impatient(), ErrorKind::TimedOut, true).await;
    let visit = heard_no_log_in(&fake).await;
    assert!(!format!("{visit:?}").contains("hunter2"), "{visit:?}");
}

#[tokio::test]
async fn tls_first_is_spoken_where_both_sides_agree() {
    let fake = fake(secured().handshake_first()).await;
    dial(&target_of(&fake), &tls_first(), listening().0).await.unwrap();
    assert_eq!(fake.connect_fields().await.unwrap()["pass"], "hunter2");
}

#[tokio::test]
async fn tls_first_that_only_the_client_expects_is_named() {
    for server in [secured(), FakeConfig::new()] {
        let fake = fake(server).await;
        let target = target(&fake.address(), "u:hunter2", &"07".repeat(32));
        let error = refused(&target, &tls_first(), ErrorKind::Denied, false).await;
        assert!(error.contains("the option tls_first is set"), "{error}");
        heard_no_log_in(&fake).await;
    }
}
