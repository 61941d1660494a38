//! Sessions that the broker ends: each is named, and the next one is made with the credential as it is then.

use std::sync::Arc;
use std::time::Duration;

use mesh_testkit::servers::rabbit::{Account, RabbitServer};
use mesh_transport_amqp::{Source, connect};
use parking_lot::Mutex;
use serde_json::json;

use crate::bed::{self, LONG, States};

/// Sets the password of `n1.mail`, who may be new.
async fn set_user(server: &RabbitServer, password: &str) {
    let management = server.management();
    let user = json!({ "password": password, "tags": "" });
    management.put(&["users", "n1.mail"], &user).await.unwrap();
    let rights = json!({ "configure": ".*", "write": ".*", "read": ".*" });
    management.put(&["permissions", bed::VHOST, "n1.mail"], &rights).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_an_operator_closes_is_named_and_comes_back() {
    let server = bed::broker(&["mail"]).await;
    let mail = bed::dial(&server, "mail").await;
    let states = States::of(&mail);
    // Either of the two is the session's end.
    let one = bed::until_async("two connections", async || {
        let there = bed::connections(server.management(), "mail").await;
        (there.len() == 2).then(|| there[0].clone())
    })
    .await;
    let name = one["name"].as_str().unwrap();
    server.management().delete(&["connections", name]).await.unwrap();
    states.lost("CONNECTION_FORCED").await;
    states.mended().await;
    let streams = mail.streams().unwrap();
    streams.append(bed::event("one"), bed::appending("one", LONG)).await.unwrap();
    bed::until_async("two connections again", async || {
        (bed::connections(server.management(), "mail").await.len() == 2).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_that_is_deleted_is_out_at_once_and_in_again_with_a_new_credential() {
    let server = bed::broker(&["mail"]).await;
    let password = Arc::new(Mutex::new(bed::PASSWORD.to_owned()));
    let source = {
        let (pin, address, password) =
            (server.fingerprint(), server.address(), Arc::clone(&password));
        Source::reread(move || {
            let document = json!({
                "url": format!("amqps://n1.mail:{}@{address}/{}", password.lock(), bed::VHOST),
                "fingerprint": pin, "node": "n1", "module": "mail",
            });
            let credential = mesh_core::credential::Credential::parse(document.to_string());
            let credential = credential.map_err(mesh_transport_amqp::unreadable)?;
            Ok(mesh_transport_amqp::Target::of(&credential)?)
        })
    };
    let mail = connect(source, bed::quick()).await.unwrap();
    let states = States::of(&mail);
    server.management().delete(&["users", "n1.mail"]).await.unwrap();
    states.lost("user 'n1.mail' is deleted").await;
    states.lost("refused the log-in").await;

    set_user(&server, "another").await;
    let streams = mail.streams().unwrap();
    let time = Duration::from_millis(1500);
    let error = streams.append(bed::event("no"), bed::appending("no", time)).await.unwrap_err();
    assert!(error.to_string().contains("refused the log-in"), "{error}");
    assert!(!format!("{error:?}").contains(bed::PASSWORD), "{error:?}");
    *password.lock() = "another".to_owned();
    streams.append(bed::event("one"), bed::appending("one", LONG)).await.unwrap();
    assert_eq!(bed::taken(server.management()).await, ["one"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_restarts_is_found_again() {
    let server = bed::broker(&["mail"]).await;
    let mail = bed::dial(&server, "mail").await;
    let states = States::of(&mail);
    server.restart().await.unwrap();
    states.mended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_a_right_keeps_its_connection() {
    let server = bed::broker(&[]).await;
    let vhost = server.management();
    let poor = Account::new("n1.poor", bed::PASSWORD);
    let user = json!({ "password": poor.password(), "tags": "" });
    vhost.put(&["users", poor.name()], &user).await.unwrap();
    let rights = json!({ "configure": "", "write": "^$", "read": "^$" });
    vhost.put(&["permissions", bed::VHOST, poor.name()], &rights).await.unwrap();
    let connection = bed::dial(&server, "poor").await;
    let states = States::of(&connection);
    let streams = connection.streams().unwrap();
    for _ in 0..20 {
        let refused = streams.append(bed::event("x"), bed::appending("x", LONG)).await.unwrap_err();
        assert_eq!(refused.kind(), mesh_core::port::ErrorKind::Denied, "{refused}");
    }
    assert!(!states.was_lost());
}
