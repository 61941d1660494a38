//! A URL means what it says (case A2): nothing in it is replaced by `guest`, `localhost` or an empty name.

use mesh_core::credential::Credential;
use mesh_core::port::ErrorKind;
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::rabbit::Account;

use super::peer::{Peer, Play};
use super::{dialled, of_url, refused, target};
use crate::AmqpOptions;
use crate::testing::{Bed, PASSWORD, come};

#[tokio::test]
async fn reserved_characters_reach_the_broker_as_they_are() {
    let bed = Bed::new().await;
    let odd = "a#b/c:d@e%f g?é";
    bed.account(Account::new("m@x", odd).all_rights()).await;
    let target = of_url(&bed.host.url_of("m@x", odd), &bed.server.fingerprint());
    assert_eq!((target.login().user(), target.vhost().as_str()), ("m@x", bed.host.name()));
    let dialled = dialled(&target).await.unwrap();
    assert_eq!(dialled.connection.status().vhost().as_str(), bed.host.name());
    assert_eq!(dialled.connection.status().username(), "m@x");
}

#[tokio::test]
async fn nobody_becomes_guest() {
    let pin = "07".repeat(32);
    for url in
        ["amqps://m:@h/x", "amqps://m@h/x", "amqps://:p@h/x", "amqps://h/x", "amqps://m:p@h/%zz"]
    {
        let document = format!(
            r#"{{"url": "{url}", "fingerprint": "{pin}", "node": "n1", "module": "mail"}}"#
        );
        assert!(Credential::parse(document).is_err(), "{url}");
    }
}

#[tokio::test]
async fn a_trailing_slash_is_the_default_virtual_host_and_an_unknown_one_is_named() {
    let bed = Bed::new().await;
    let pin = bed.server.fingerprint();
    let at = format!(
        "n1.mail:{}@{}",
        PASSWORD.replace('/', "%2F").replace('@', "%40"),
        bed.server.address()
    );
    // The test's node has no virtual host of that name.
    for (path, name) in [("/", "/"), ("", "/"), ("/%2F", "/"), ("/no%2Fwhere", "no/where")] {
        let target = of_url(&format!("amqps://{at}{path}"), &pin);
        let error = refused(&target, &AmqpOptions::default(), ErrorKind::NotFound, false).await;
        assert!(error.contains(&format!("(virtual host {name:?})")), "{error}");
        assert!(error.contains(&format!("vhost {name} not found")), "{error}");
    }
}

#[tokio::test]
async fn an_address_of_ipv6_is_dialled_as_it_is_written() {
    let shown = Certificate::local().unwrap();
    let mut peer = Peer::start_at("[::1]:0", Play::Secured(shown.clone())).await;
    let target = target(&peer.address, "n1.mail:hunter2", &shown.fingerprint());
    refused(&target, &super::impatient(), ErrorKind::TimedOut, true).await;
    assert!(come(peer.visit()).await.starts_with(b"AMQP"));
}

#[tokio::test]
async fn a_name_that_is_nowhere_is_not_this_machine() {
    let target = target(&"nowhere.invalid", "n1.mail:hunter2", &"07".repeat(32));
    let error = refused(&target, &super::impatient(), ErrorKind::Disconnected, true).await;
    assert!(error.contains("the name can't be looked up"), "{error}");
}
