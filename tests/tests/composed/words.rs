//! Whatever a name or a secret looks like, the server reads exactly that, or the composer refuses it (the
//! cases of quoting).

use mesh_control::compose::{Account, Accounts, ComposeError, Verifier, VerifierError};
use mesh_core::manifest::Bus;
use mesh_core::permissions::Permissions;
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer, RawNats};

use crate::served::{HASH, PASSWORD};

/// What a configuration would read as a number, a date, a size, a boolean, a variable, an escape, a comment
/// or an end.
const ODD: [&str; 16] = [
    "4e2x",
    "2026-06-25",
    "2026-06-25abc",
    "1k",
    "1GB",
    "true",
    "a\"b",
    "a\\q",
    "$2a$x",
    "$HOME",
    "a}b",
    "a]b, { user: eve }",
    "a\nb\tc\rd",
    "# no comment",
    "'single'",
    "é→\u{1f980} ",
];

#[tokio::test]
async fn an_odd_name_is_read_as_it_is() {
    let verifier = Verifier::bcrypt(HASH).unwrap();
    let mut accounts = Accounts::of(&Bus::default());
    for name in ODD {
        let none = Permissions::default();
        accounts = accounts.with(name, Account::Edge, &none, &verifier).unwrap();
    }
    let config = NatsConfig::new().tls(Certificate::local().unwrap());
    let server = NatsServer::launch(config.with(accounts.text().unwrap())).await.unwrap();
    for name in ODD {
        let mut client = RawNats::connect(&server).await.unwrap();
        client.login(name, PASSWORD).await.unwrap_or_else(|error| panic!("{name:?}: {error}"));
        // And it may do nothing, which is what an empty list must say.
        client.publish("a", None, &[], b"").await.unwrap();
        client.subscribe("a", None).await.unwrap();
        assert_eq!(client.settle().await.unwrap().errors.len(), 2, "{name:?}");
    }
    let mut eve = RawNats::connect(&server).await.unwrap();
    assert!(eve.login("eve", PASSWORD).await.is_err());
}

#[test]
fn what_no_configuration_can_hold_is_refused_by_name() {
    let verifier = Verifier::bcrypt(HASH).unwrap();
    for name in ["a\0b", "a\u{7}b", "\u{1b}[2J", "a\u{85}b"] {
        let accounts = Accounts::of(&Bus::default());
        let refused = accounts.with(name, Account::Edge, &Permissions::default(), &verifier);
        let Err(ComposeError::Value { field, .. }) = refused else { panic!("{name:?}") };
        assert_eq!(field, format!("the user {name:?}"));
    }
}

#[test]
fn no_secret_as_it_is_becomes_a_verifier() {
    for secret in ODD.into_iter().chain([PASSWORD]) {
        assert_eq!(Verifier::bcrypt(secret), Err(VerifierError::NotBcrypt), "{secret}");
        assert_eq!(Verifier::nkey(secret), Err(VerifierError::NotAnNKey), "{secret}");
    }
}
