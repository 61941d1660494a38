//! Assertions for tests that wait for an event, with a deadline, and never for silence.

use std::fmt::Debug;
use std::time::Duration;

use mesh_core::message::Message;
use mesh_core::port::{
    Connection, Deliveries, Delivery, Incoming, PublishOptions, ReceiveError, Subscription,
};

/// How long an assertion waits before it fails. A test that is right never waits so long.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// What `future` gives.
///
/// # Panics
/// If it gives nothing within [`DEADLINE`]; `what` says what was waited for.
#[expect(clippy::panic, reason = "it is an assertion of a test")]
pub async fn expect_soon<F: Future + Send>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(output) => output,
        Err(_) => panic!("waited {DEADLINE:?} for {what}"),
    }
}

/// The next arrival of any kind: a message, a delivery, a call.
///
/// # Panics
/// If none comes, the subscription ends or tells something else.
#[expect(clippy::panic, reason = "it is an assertion of a test")]
pub async fn expect_arrival<T: Send>(incoming: &mut Incoming<T>) -> T {
    match expect_soon("an arrival", incoming.next()).await {
        Some(Ok(arrival)) => arrival,
        Some(Err(word)) => panic!("expected an arrival, was told: {word}"),
        None => panic!("expected an arrival, the subscription ended"),
    }
}

/// The next message.
///
/// # Panics
/// As [`expect_arrival`].
pub async fn expect_message(subscription: &mut Subscription) -> Message {
    expect_arrival(subscription).await
}

/// The next delivery.
///
/// # Panics
/// As [`expect_arrival`].
pub async fn expect_delivery(deliveries: &mut Deliveries) -> Delivery {
    expect_arrival(deliveries).await
}

/// The next word about the subscription itself: lagged, interrupted, refused, ended.
///
/// # Panics
/// If an arrival comes instead, or the end, or nothing.
#[expect(clippy::panic, reason = "it is an assertion of a test")]
pub async fn expect_told<T: Send + Debug>(incoming: &mut Incoming<T>) -> ReceiveError {
    match expect_soon("word", incoming.next()).await {
        Some(Err(word)) => word,
        other => panic!("expected word about the subscription, found {other:?}"),
    }
}

/// The subscription ends as one does that was closed on purpose.
///
/// # Panics
/// If anything else comes, or nothing.
#[expect(clippy::panic, reason = "it is an assertion of a test")]
pub async fn expect_ended<T: Send + Debug>(incoming: &mut Incoming<T>) {
    if let Some(other) = expect_soon("the end", incoming.next()).await {
        panic!("expected the end, found {other:?}");
    }
}

/// Nothing is on its way to the subscription: `sentinel`, published now, is what comes first.
///
/// # Panics
/// If something else comes first, or the sentinel can't be published.
#[expect(clippy::panic, reason = "it is an assertion of a test")]
pub async fn expect_nothing_before(
    subscription: &mut Subscription,
    publisher: &Connection,
    sentinel: Message,
) {
    let options = PublishOptions::default();
    let publishing = publisher.transport().publish(sentinel.clone(), options);
    if let Err(error) = expect_soon("publish", publishing).await {
        panic!("the sentinel can't be published: {error}");
    }
    let first = expect_message(subscription).await;
    let same = first.subject() == sentinel.subject() && first.payload() == sentinel.payload();
    assert!(same, "before the sentinel came {first:?}");
}
