//! The assertions for tests of other crates, on the reference broker: each holds, and each fails.

use std::sync::Arc;

use futures_util::FutureExt as _;
use mesh_core::port::{Connection, SubscribeOptions, Subscription};
use mesh_core::topology::Topology;
use mesh_testkit::expect::{
    expect_delivery, expect_ended, expect_message, expect_nothing_before, expect_told,
};
use mesh_testkit::fixtures::{consumer, controller, filter, message, module};
use mesh_testkit::suite::{Bed, Harness as _};

use crate::reference::Reference;

async fn bed() -> Arc<dyn Bed> {
    Reference::honest().start(&Topology::new()).await.unwrap()
}

async fn listening() -> (Connection, Subscription) {
    let connection = bed().await.connect(module("n1", "mail"), None).await.unwrap();
    let options =
        SubscribeOptions { buffer: std::num::NonZeroUsize::MIN, ..SubscribeOptions::default() };
    let transport = connection.transport();
    let subscription = transport.subscribe(filter("test.a"), options).await.unwrap();
    (connection, subscription)
}

async fn publish(connection: &Connection, body: &str) {
    let sent = message("test.a", body);
    connection.transport().publish(sent, Default::default()).await.unwrap();
}

/// The panic of an assertion that must not hold.
async fn refusal(assertion: impl Future<Output = ()>) -> String {
    let caught = std::panic::AssertUnwindSafe(assertion).catch_unwind().await;
    let panic = caught.expect_err("it held");
    let literal = panic.downcast_ref::<&str>().map(ToString::to_string);
    literal.unwrap_or_else(|| *panic.downcast::<String>().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_message_is_waited_for_and_missed() {
    let (connection, mut subscription) = listening().await;
    publish(&connection, "1").await;
    assert_eq!(expect_message(&mut subscription).await.payload(), "1");
    let missed = refusal(async { drop(expect_message(&mut subscription).await) }).await;
    assert!(missed.contains("waited 10s for an arrival"), "{missed}");
}

#[tokio::test(start_paused = true)]
async fn what_was_lost_is_told_and_is_no_message() {
    let (connection, mut subscription) = listening().await;
    for body in ["1", "2", "3"] {
        publish(&connection, body).await;
    }
    expect_message(&mut subscription).await;
    let told = expect_told(&mut subscription).await;
    assert_eq!(told.to_string(), "the reader was too slow: 2 lost");
    for body in ["4", "5"] {
        publish(&connection, body).await;
    }
    let found = refusal(async { drop(expect_told(&mut subscription).await) }).await;
    assert!(found.contains("expected word"), "{found}");
    let found = refusal(async { drop(expect_message(&mut subscription).await) }).await;
    assert!(found.contains("1 lost"), "{found}");
}

#[tokio::test(start_paused = true)]
async fn the_end_is_told_from_a_message() {
    let (connection, mut subscription) = listening().await;
    publish(&connection, "1").await;
    let found = refusal(expect_ended(&mut subscription)).await;
    assert!(found.contains("expected the end"), "{found}");
    connection.transport().close(Default::default()).await;
    expect_ended(&mut subscription).await;
    let found = refusal(async { drop(expect_message(&mut subscription).await) }).await;
    assert!(found.contains("the subscription ended"), "{found}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_proven_by_a_sentinel() {
    let (connection, mut subscription) = listening().await;
    let sentinel = message("test.a", "sentinel");
    expect_nothing_before(&mut subscription, &connection, sentinel.clone()).await;
    publish(&connection, "1").await;
    let found = expect_nothing_before(&mut subscription, &connection, sentinel.clone());
    let found = refusal(found).await;
    assert!(found.contains("before the sentinel"), "{found}");
    connection.transport().close(Default::default()).await;
    let found = expect_nothing_before(&mut subscription, &connection, sentinel);
    let found = refusal(found).await;
    assert!(found.contains("connection closed"), "{found}");
}

#[tokio::test(start_paused = true)]
async fn a_delivery_is_waited_for() {
    let connection = bed().await.connect(controller(), None).await.unwrap();
    let streams = connection.streams().unwrap();
    let sent = message("mesh.build.request", "1");
    streams.append(sent, Default::default()).await.unwrap();
    let of = consumer(mesh_core::topology::StreamName::Builds, "builder");
    let mut deliveries = streams.consume(of, Default::default()).await.unwrap();
    let delivery = expect_delivery(&mut deliveries).await;
    assert_eq!(delivery.message().payload(), "1");
    delivery.ack().await.unwrap();
}

#[test]
#[should_panic(expected = "fixture \"Mail\": module name: character 'M' at offset 0")]
fn a_wrong_literal_says_what_is_wrong() {
    let _ = module("n1", "Mail");
}
