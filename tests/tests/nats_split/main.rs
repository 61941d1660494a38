//! A whole mesh on a real nats-server in the split layout: over TLS, with credentials, each program with
//! exactly the rights of protocol §4.
#![expect(unreachable_pub, reason = "a test")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod events;
mod inboxes;
mod nodes;
mod people;
#[path = "../support/split/mod.rs"]
#[allow(dead_code, unused_imports, reason = "another binary uses the rest")]
mod split;
mod tools;

use std::future::Future;

use mesh_core::port::{ConsumeOptions, Deliveries, Delivery, ReceiveError};
use mesh_core::topology::{ConsumerRef, StreamName};
use mesh_sdk::Broker;
use mesh_testkit::fixtures::{consumer, filter};
use split::{Bed, PATIENCE};

/// What `future` gives, if it does so in time.
async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("not in time")
}

/// The module of that user, as the SDK runs it, consuming these.
async fn module(bed: &Bed, user: &str, consumes: &[&str]) -> Broker {
    let connection = bed.connect(user).await.unwrap();
    let consumes = consumes.iter().map(|text| filter(text));
    Broker::builder(connection).consumes(consumes).build().unwrap()
}

/// What that consumer is given.
async fn reading(bed: &Bed, user: &str, stream: StreamName, name: &str) -> Reader {
    let connection = bed.connect(user).await.unwrap();
    let deliveries = read(&connection, consumer(stream, name)).await;
    Reader { deliveries, connection }
}

async fn read(connection: &mesh_core::port::Connection, reader: ConsumerRef) -> Deliveries {
    let streams = connection.streams().unwrap();
    streams.consume(reader, ConsumeOptions::default()).await.unwrap()
}

struct Reader {
    deliveries: Deliveries,
    connection: mesh_core::port::Connection,
}

impl Reader {
    async fn next(&mut self) -> Delivery {
        match soon(self.deliveries.next()).await {
            Some(Ok(delivery)) => delivery,
            Some(Err(ReceiveError::Ended(error))) => panic!("it ended: {error}"),
            other => panic!("instead of a delivery: {other:?}"),
        }
    }

    /// The payload of the next, which is acknowledged.
    async fn body(&mut self) -> String {
        let delivery = self.next().await;
        let body = String::from_utf8(delivery.message().payload().to_vec()).unwrap();
        delivery.ack().await.unwrap();
        body
    }
}
