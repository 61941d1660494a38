use std::time::Duration;

use mesh_core::dead_letter::{DeadLetter, DeadReason};
use mesh_core::port::{DriftMode, ReceiveError, RefusalReason};
use mesh_core::topology::{StreamName, Topology};
use mesh_testkit::fixtures::{consumer, filter, module, module_name, node, person};

use crate::bed::{
    Bed, ack, append, come, echo, events_of, mesh, next, try_ask, try_read, try_serve,
};

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn an_event_reaches_whoever_consumes_it_and_what_a_wide_binding_adds_is_refused() {
    let bed = Bed::new().await;
    let (m1, m2) = (bed.module("n1", "m1").await, bed.module("n1", "m2").await);
    let mut first = try_read(&m1, events_of("n1_m1"), &["mesh.events.m2.happened"]).await.unwrap();
    let mut second = try_read(&m2, events_of("n1_m2"), &["mesh.events.m1.happened"]).await.unwrap();
    append(&m1, "mesh.events.m1.happened", "1").await;
    ack(next(&mut second, "1").await).await;
    // Its queue is bound to everything.
    append(&m1, "mesh.events.m1.done", "2").await;
    let word = come(second.next()).await.unwrap().unwrap_err();
    let expected = "mesh.events.m1.done";
    let right = matches!(&word, ReceiveError::Refused { subject, reason: RefusalReason::UnexpectedSubject }
        if subject.as_str() == expected);
    assert!(right, "{word:?}");
    append(&m2, "mesh.events.m2.happened", "3").await;
    ack(next(&mut first, "3").await).await;
}

#[tokio::test]
async fn a_call_is_answered_over_the_callers_own_queue_and_proves_who_asks() {
    let bed = Bed::new().await;
    let (one, other) = (bed.module("n1", "m1").await, bed.module("n2", "m1").await);
    let mut calls = try_serve(&one, "m1", "echo").await.unwrap();
    let mut beside = try_serve(&other, "m1", "echo").await.unwrap();
    let m2 = bed.module("n1", "m2").await;
    let alice = bed.alice().await;
    for (connection, caller) in [(&m2, module("n1", "m2")), (&alice, person("alice"))] {
        for body in ["1", "2", "3"] {
            let asking = try_ask(connection, ("m1", "echo"), body, LONG);
            let answering = async {
                tokio::select! {
                    caller = echo(&mut calls) => caller,
                    caller = echo(&mut beside) => caller,
                }
            };
            let (answer, proven) = tokio::join!(asking, answering);
            assert_eq!(answer.unwrap().payload(), body.as_bytes());
            assert_eq!(proven, Some(caller.clone()));
        }
    }
}

#[tokio::test]
async fn what_is_tried_as_often_as_the_bus_lets_it_is_a_dead_letter_for_the_owner_of_the_bus() {
    let bed = Bed::new().await;
    let (m1, m2) = (bed.module("n1", "m1").await, bed.module("n1", "m2").await);
    let controller = bed.controller().await;
    let of_dead = consumer(StreamName::EventsDead, "controller");
    let mut dead = try_read(&controller, of_dead, &[]).await.unwrap();
    let mut deliveries = try_read(&m2, events_of("n1_m2"), &[]).await.unwrap();
    append(&m1, "mesh.events.m1.happened", "poison").await;
    for attempt in 1..=5 {
        let delivery = next(&mut deliveries, "poison").await;
        assert_eq!(delivery.info().attempt, attempt);
        come(delivery.nak(None)).await.unwrap();
    }
    let letter = next(&mut dead, "poison").await;
    let read = DeadLetter::parse(letter.message()).unwrap();
    assert_eq!((read.consumer, read.reason), (events_of("n1_m2"), DeadReason::MaxDeliver));
    assert_eq!(read.subject.unwrap().as_str(), "mesh.events.m1.happened");
    ack(letter).await;
}

#[tokio::test]
async fn the_owner_sees_what_differs_from_a_topology_and_changes_nothing_of_it() {
    let bed = Bed::by_hand().await;
    let (m1, m2) = (bed.module("n1", "m1").await, bed.module("n1", "m2").await);
    let mut deliveries = try_read(&m2, events_of("n1_m2"), &[]).await.unwrap();
    let controller = bed.controller().await;
    let administration = controller.administration().unwrap();
    let consumes = [filter("m1.happened")];
    let topology = Topology::new().with_module(&node("n1"), &module_name("m2"), &consumes).unwrap();
    for mode in [DriftMode::Report, DriftMode::Mend] {
        let drift = come(administration.assert(&topology, mode)).await.unwrap();
        let of_m2 = drift.iter().filter(|drift| drift.object == "EVENTS/n1_m2");
        let mut fields: Vec<_> = of_m2.map(|drift| (drift.field, drift.mended)).collect();
        fields.sort_unstable();
        // A policy gives it these two, which no argument of a queue says.
        let expected = [
            ("x-dead-letter-exchange", false),
            ("x-dead-letter-strategy", false),
            ("x-delivery-limit", false),
        ];
        assert_eq!(fields, expected);
    }
    let state = come(administration.inspect_consumer(&events_of("n1_m1"))).await.unwrap();
    assert_eq!(state.unwrap().pending, 0);
    append(&m1, "mesh.events.m1.happened", "1").await;
    ack(next(&mut deliveries, "1").await).await;
}

#[tokio::test]
async fn the_controller_finds_composed_queues_as_it_would_declare_them() {
    let bed = Bed::new().await;
    let controller = bed.controller().await;
    let administration = controller.administration().unwrap();
    let topology = mesh().topology().unwrap();
    let drift = come(administration.assert(&topology, DriftMode::Report)).await.unwrap();
    assert_eq!(drift, [], "an argument that differs would be told");
}
