use std::time::Duration;

use mesh_core::port::{ConsumeOptions, ErrorKind, ReceiveError};
use mesh_core::topology::{ConsumerRef, DeliverFrom, Retention, StreamName, StreamSpec};

use super::*;

#[tokio::test]
async fn a_consumer_that_is_not_shared_has_one_reader() {
    let bed = Bed::with(|topology| topology.with_node(&node())).await;
    let host = bed.connect("audit");
    let consumer = ConsumerRef::new(StreamName::Nodes, ConsumerName::new("n1").unwrap());
    let streams = host.streams().unwrap();
    let consume = || streams.consume(consumer.clone(), ConsumeOptions::default());
    let first = consume().await.unwrap();
    assert_eq!(consume().await.unwrap_err().kind(), ErrorKind::Broker);
    drop(first);
    consume().await.unwrap();
}

#[tokio::test]
async fn a_severed_connection_gives_back_and_says_so() {
    let bed = Bed::new().await;
    let (reader, other) = (bed.connect("audit"), bed.connect("watch"));
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    let mut states = reader.transport().states();
    assert!(states.next().await.unwrap().is_connected());
    bed.emit("a").await;
    let held = next(&mut deliveries).await;

    assert_eq!(bed.broker.sever(&module("audit")), 1);
    let Some(Err(ReceiveError::Ended(error))) = deliveries.next().await else {
        panic!("it should have ended");
    };
    assert_eq!(error.kind(), ErrorKind::Disconnected);
    assert!(deliveries.next().await.is_none());
    assert!(!states.next().await.unwrap().is_connected());
    assert!(states.next().await.is_none());
    assert_eq!(held.ack().await.unwrap_err().kind(), ErrorKind::Disconnected);
    let refused =
        reader.streams().unwrap().append(message("mesh.events.mail.sent", "b"), Default::default());
    assert_eq!(refused.await.unwrap_err().kind(), ErrorKind::Disconnected);

    let mut again = bed.read(&other, "n1_audit").await;
    assert_eq!(next(&mut again).await.info().attempt, 2);
}

#[tokio::test]
async fn no_task_outlives_the_broker() {
    let bed = Bed::new().await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("a").await;
    let delivery = next(&mut deliveries).await;
    settle().await;
    assert_eq!(bed.clock.sleepers(), 1);
    let clock = bed.clock.clone();
    drop((delivery, deliveries, reader, bed));
    settle().await;
    assert_eq!(clock.sleepers(), 0);
    assert_eq!(Arc::strong_count(&clock), 1);
}

#[tokio::test]
async fn a_topology_that_a_server_refuses_changes_nothing() {
    let bed = Bed::new().await;
    let admin = bed.control.administration().unwrap();
    let events_spec = bed.topology.stream(StreamName::Events).unwrap().clone();
    let overlapping = bed.topology.clone().with_stream(StreamSpec {
        name: StreamName::EventsDead,
        subjects: vec![filter("mesh.events.>")],
        retention: Retention::Log,
        ..events_spec
    });
    let refused = admin.assert(&overlapping, DriftMode::Mend).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    let mut second = bed.topology.consumers()[0].clone();
    second.reference.consumer = ConsumerName::new("other").unwrap();
    let second = bed.topology.clone().with_consumer(second);
    let refused = admin.assert(&second, DriftMode::Mend).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    bed.assert().await;
}

#[tokio::test]
async fn a_delivery_of_a_retired_consumer_settles_nothing_of_its_successor() {
    let bed = Bed::new().await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("a").await;
    let old = next(&mut deliveries).await;
    let admin = bed.control.administration().unwrap();
    assert!(admin.retire(&events("n1_audit")).await.unwrap());
    let Some(Err(ReceiveError::Ended(error))) = deliveries.next().await else {
        panic!("it should have ended");
    };
    assert_eq!(error.kind(), ErrorKind::NotFound);

    let mut topology = bed.topology.clone();
    let mut spec = topology.consumer(&events("n1_audit")).unwrap().clone();
    spec.deliver_from = DeliverFrom::All;
    topology = topology.with_consumer(spec);
    admin.assert(&topology, DriftMode::Mend).await.unwrap();
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    let new = next(&mut deliveries).await;
    assert_eq!(new.info().sequence, old.info().sequence);
    old.ack().await.unwrap();
    new.nak(None).await.unwrap();
    assert_eq!(next(&mut deliveries).await.info().attempt, 2);
}

#[test]
fn what_waits_goes_on_where_the_next_connection_is_made() {
    let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (first, second) = (runtime(), runtime());
    let bed = first.block_on(async {
        let bed = Bed::new().await;
        let reader = bed.connect("audit");
        let mut deliveries = bed.read(&reader, "n1_audit").await;
        bed.emit("a").await;
        next(&mut deliveries).await.nak(Some(Duration::from_secs(1))).await.unwrap();
        bed
    });
    drop(first);
    second.block_on(async {
        let reader = bed.connect("audit");
        let mut deliveries = bed.read(&reader, "n1_audit").await;
        let reading = tokio::spawn(async move { next(&mut deliveries).await.info().attempt });
        settle().await;
        bed.clock.advance(Duration::from_secs(1));
        settle().await;
        assert!(reading.is_finished(), "nobody looked when it was due");
        assert_eq!(reading.await.unwrap(), 2);
    });
}
