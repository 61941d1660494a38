//! A real broker: what it says to whom it does not let in.

use mesh_core::port::ErrorKind;
use mesh_testkit::servers::rabbit::Account;
use serde_json::json;

use super::{dialled, of_url, refused};
use crate::AmqpOptions;
use crate::testing::{Bed, PASSWORD, come};

#[tokio::test]
async fn a_wrong_password_is_denied() {
    let bed = Bed::new().await;
    let target = of_url(&bed.host.url_of("n1.mail", "hunter2"), &bed.server.fingerprint());
    let error = refused(&target, &AmqpOptions::default(), ErrorKind::Denied, false).await;
    assert!(error.contains("refused the log-in of \"n1.mail\""), "{error}");
}

#[tokio::test]
async fn a_user_without_rights_in_the_virtual_host_is_denied() {
    let bed = Bed::new().await;
    bed.account(Account::new("n1.stranger", PASSWORD)).await;
    let target = bed.target("n1.stranger");
    let error = refused(&target, &AmqpOptions::default(), ErrorKind::Denied, false).await;
    assert!(error.contains("access to vhost"), "{error}");
}

#[tokio::test]
async fn a_full_virtual_host_may_have_room_later() {
    let bed = Bed::new().await;
    let path = ["vhost-limits", bed.host.name(), "max-connections"];
    bed.host.management().put(&path, &json!({ "value": 0 })).await.unwrap();
    let target = bed.target("n1.mail");
    let error = refused(&target, &AmqpOptions::default(), ErrorKind::Broker, true).await;
    assert!(error.contains("limit"), "{error}");
}

#[tokio::test]
async fn the_client_ends_with_its_socket() {
    let bed = Bed::new().await;
    let dialled = dialled(&bed.target("n1.mail")).await.unwrap();
    dialled.plug.pull();
    // The other end is dropped, with the client's thread. What the client is asked after that it may leave
    // waiting for ever, so whoever asks looks at the session's end as well.
    assert!(come(dialled.ended).await.is_err());
}
