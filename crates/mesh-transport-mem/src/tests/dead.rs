use std::time::Duration;

use mesh_core::dead_letter::{DeadLetter, DeadReason};
use mesh_core::port::{Position, Reason};
use mesh_core::topology::StreamSpec;

use super::*;

async fn letter(bed: &Bed, sequence: u64) -> Message {
    let admin = bed.control.administration().unwrap();
    let stored = admin.read(StreamName::EventsDead, Position::Sequence(sequence)).await.unwrap();
    stored.unwrap().message
}

fn event() -> Message {
    message("mesh.events.mail.sent", r#"{"a":1}"#)
        .with_header("x-event-id".parse().unwrap(), "e-1".parse().unwrap())
        .with_header("X-Dead-Reason".parse().unwrap(), "forged".parse().unwrap())
        .with_header("x-mine".parse().unwrap(), "kept".parse().unwrap())
}

#[tokio::test]
async fn what_is_tried_too_often_is_a_dead_letter_exactly_once() {
    let bed = Bed::new().await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    let mut live = bed
        .control
        .transport()
        .subscribe(filter("mesh.events.dead"), Default::default())
        .await
        .unwrap();
    let streams = bed.control.streams().unwrap();
    streams.append(event(), Default::default()).await.unwrap();
    for attempt in 1..=5 {
        let delivery = next(&mut deliveries).await;
        assert_eq!(delivery.info().attempt, attempt);
        assert_eq!(delivery.is_last_attempt(), attempt == 5);
        let delay = (attempt % 2 == 0).then_some(Duration::from_secs(1));
        delivery.nak(delay).await.unwrap();
        bed.clock.advance(Duration::from_secs(1));
    }
    assert!(arrived(&mut deliveries).await.is_none());
    bed.clock.advance(Duration::from_secs(300));
    assert!(arrived(&mut deliveries).await.is_none());
    assert_eq!(bed.dead().await, 1);
    assert_eq!(bed.owed("n1_audit").await, 0);

    let message = letter(&bed, 1).await;
    assert_eq!(live.next().await.unwrap().unwrap(), message);
    assert_eq!(message.payload(), event().payload());
    assert_eq!(message.headers().value("x-event-id"), Some("e-1"));
    assert_eq!(message.headers().value("x-mine"), Some("kept"));
    assert_eq!(message.headers().value("X-Dead-Reason"), None);
    let letter = DeadLetter::parse(&message).unwrap();
    assert_eq!(letter.reason, DeadReason::MaxDeliver);
    assert_eq!((letter.sequence, letter.deliveries), (Some(1), Some(5)));
    assert_eq!(letter.subject, Some(subject("mesh.events.mail.sent")));

    let replay = DeadLetter::replay(&message).unwrap();
    streams.append(replay, Default::default()).await.unwrap();
    let replayed = next(&mut deliveries).await;
    let body = replayed.message();
    assert_eq!(body.subject().as_str(), "mesh.replay.n1_audit.mail.sent");
    assert_eq!(body.headers().value("x-event-id"), Some("e-1"));
    replayed.terminate(Reason::new("again")).await.unwrap();
    assert_eq!(bed.dead().await, 2);
}

#[tokio::test]
async fn deliveries_that_nobody_settles_end_as_a_dead_letter() {
    let bed = Bed::new().await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("a").await;
    let mut held = Vec::new();
    for _ in 0..5 {
        held.push(next(&mut deliveries).await);
        bed.clock.advance(Duration::from_secs(30));
    }
    settle().await;
    assert_eq!(bed.dead().await, 1);
    drop((held, deliveries));
    assert_eq!(bed.dead().await, 1);
}

#[tokio::test]
async fn a_terminated_delivery_carries_its_handlers_reason() {
    let bed = Bed::new().await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("a").await;
    let delivery = next(&mut deliveries).await;
    let reason = Reason::new("no such account: \"é\"");
    delivery.terminate(reason.clone()).await.unwrap();
    let letter = DeadLetter::parse(&letter(&bed, 1).await).unwrap();
    assert_eq!(letter.reason, DeadReason::Terminated);
    assert_eq!(letter.error, Some(reason));
}

#[tokio::test]
async fn a_terminated_task_of_a_work_queue_is_gone_and_no_dead_letter() {
    let bed = Bed::new().await;
    let streams = bed.control.streams().unwrap();
    let built = message("mesh.control.built", "a");
    streams.append(built, Default::default()).await.unwrap();
    let consumer = ConsumerRef::new(StreamName::Control, ConsumerName::new("controller").unwrap());
    let mut deliveries = streams.consume(consumer, Default::default()).await.unwrap();
    let delivery = next(&mut deliveries).await;
    delivery.terminate(Reason::new("undecodable")).await.unwrap();
    let admin = bed.control.administration().unwrap();
    let state = admin.inspect(StreamName::Control).await.unwrap().unwrap();
    assert_eq!(state.messages, 0);
    assert_eq!(bed.dead().await, 0);
}

#[tokio::test]
async fn dead_letters_that_find_no_room_are_kept_and_tried_again() {
    let full = |topology: Topology, max_bytes| {
        let spec = topology.stream(StreamName::EventsDead).unwrap().clone();
        topology.with_stream(StreamSpec { max_bytes, ..spec })
    };
    let mut bed = Bed::with(|topology| full(topology, 10)).await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("a").await;
    let delivery = next(&mut deliveries).await;
    delivery.terminate(Reason::new("no")).await.unwrap();
    assert_eq!((bed.dead().await, bed.owed("n1_audit").await), (0, 1));
    assert!(arrived(&mut deliveries).await.is_none());

    bed.topology = full(bed.topology.clone(), 10_000);
    let admin = bed.control.administration().unwrap();
    let drift = admin.assert(&bed.topology, DriftMode::Mend).await.unwrap();
    assert_eq!(drift.len(), 1);
    bed.clock.advance(Duration::from_secs(30));
    settle().await;
    assert_eq!((bed.dead().await, bed.owed("n1_audit").await), (1, 0));
}

#[tokio::test]
async fn a_dead_letter_that_finds_no_room_lets_others_run() {
    let bed = Bed::with(|topology| {
        let mut dead = topology.stream(StreamName::EventsDead).unwrap().clone();
        let mut spec = topology.consumer(&events("n1_audit")).unwrap().clone();
        (dead.max_bytes, spec.rules.ack_wait) = (1, Duration::ZERO);
        topology.with_stream(dead).with_consumer(spec)
    })
    .await;
    let reader = bed.connect("audit");
    let mut deliveries = bed.read(&reader, "n1_audit").await;
    bed.emit("a").await;
    next(&mut deliveries).await.terminate(Reason::new("no use")).await.unwrap();
    settle().await;
    assert_eq!((bed.dead().await, bed.owed("n1_audit").await), (0, 1));
}
