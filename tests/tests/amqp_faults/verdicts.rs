//! Verdicts that are on their way when something else goes: their reader, or the broker.

use std::time::Duration;

use mesh_core::name::ConsumerName;
use mesh_core::port::{ConsumeOptions, ErrorKind};
use mesh_core::topology::{ConsumerRef, StreamName};
use mesh_transport_amqp::{AmqpOptions, connect};

use crate::bed::{self, LONG};

const BOUND: Duration = Duration::from_secs(30);

async fn come<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, future).await.expect("not in time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_proves_what_was_settled_after_its_reader_had_left() {
    let server = bed::broker(&["mail"]).await;
    let options = AmqpOptions { heartbeat: LONG, ..bed::quick() };
    let mail = connect(bed::target(&server, "mail"), options).await.unwrap();
    let (streams, transport) = (mail.streams().unwrap(), mail.transport());
    streams.append(bed::event("a"), bed::appending("a", LONG)).await.unwrap();
    let consumer = ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_mail").unwrap());
    let mut deliveries = come(streams.consume(consumer, ConsumeOptions::default())).await.unwrap();
    let delivery = come(deliveries.next()).await.unwrap().unwrap();
    drop(deliveries);
    come(transport.flush(BOUND)).await.unwrap();
    server.pause().unwrap();
    come(delivery.ack()).await.unwrap();
    for _ in 0..10 {
        let flushed = transport.flush(Duration::from_millis(50)).await;
        let error = flushed.expect_err("the broker is silent, and has nothing of it");
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    }
    server.resume().unwrap();
    come(transport.flush(BOUND)).await.unwrap();
    drop(mail);
    assert!(bed::taken(server.management()).await.is_empty());
}
