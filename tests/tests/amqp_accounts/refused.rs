use std::time::Duration;

use mesh_core::port::{Connection, ErrorKind, SubscribeOptions};
use mesh_testkit::fixtures::filter;

use crate::bed::{
    Bed, ack, append, come, echo, events_of, next, refused, try_append, try_ask, try_read,
    try_serve,
};

const LONG: Duration = Duration::from_secs(30);

/// Those who go on, whatever others are refused.
struct Healthy {
    m1: Connection,
    m2: Connection,
    alice: Connection,
}

impl Healthy {
    async fn of(bed: &Bed) -> Self {
        let (m1, m2) = (bed.module("n1", "m1").await, bed.module("n1", "m2").await);
        Self { m1, m2, alice: bed.alice().await }
    }
}

#[tokio::test]
async fn each_refused_act_is_told_on_its_call_and_healthy_consumers_go_on() {
    let bed = Bed::new().await;
    let Healthy { m1, m2, alice } = Healthy::of(&bed).await;
    let mut deliveries = try_read(&m2, events_of("n1_m2"), &[]).await.unwrap();
    // Whom it may ask is not there yet.
    refused(try_ask(&m2, ("m1", "echo"), "?", LONG).await, ErrorKind::NoResponders);
    let mut calls = try_serve(&m1, "m1", "echo").await.unwrap();

    // Another's event, an event that was never declared, and an event of somebody who emits none.
    for (by, subject) in [
        (&m1, "mesh.events.m2.happened"),
        (&m1, "mesh.events.m1.undeclared"),
        (&m2, "mesh.events.m1.happened"),
        (&alice, "mesh.events.m1.happened"),
    ] {
        let error = refused(try_append(by, subject, "forged").await, ErrorKind::Denied);
        assert_eq!(error.subject(), Some(subject), "{error}");
    }
    // What the owner alone does.
    for subject in ["mesh.node.n1.declare", "mesh.events.dead", "mesh.control.built"] {
        let error = refused(try_append(&m1, subject, "forged").await, ErrorKind::Denied);
        assert_eq!(error.subject(), Some(subject), "{error}");
    }
    // Another's events, events that nobody has, and the dead letters.
    let read = try_read(&m1, events_of("n1_m2"), &[]).await;
    assert_eq!(refused(read, ErrorKind::Denied).subject(), Some("EVENTS/n1_m2"));
    let read = try_read(&m1, events_of("n1_m9"), &[]).await;
    assert_eq!(refused(read, ErrorKind::NotFound).subject(), Some("EVENTS/n1_m9"));
    // Another's tool: to serve, and to call.
    refused(try_serve(&m1, "m2", "boom").await, ErrorKind::Denied);
    let asked = try_ask(&alice, ("m2", "boom"), "?", LONG).await;
    assert_eq!(refused(asked, ErrorKind::Denied).subject(), Some("mesh.tools.m2.boom"));
    let asked = try_ask(&m2, ("m9", "echo"), "?", LONG).await;
    assert_eq!(refused(asked, ErrorKind::Denied).subject(), Some("mesh.tools.m9.echo"));

    append(&m1, "mesh.events.m1.happened", "true").await;
    ack(next(&mut deliveries, "true").await).await;
    for by in [&m2, &alice] {
        let asking = try_ask(by, ("m1", "echo"), "still", LONG);
        let (answer, _) = tokio::join!(asking, echo(&mut calls));
        assert_eq!(answer.unwrap().payload(), b"still".as_slice());
    }
}

#[tokio::test]
async fn who_may_declare_nothing_hears_what_is_to_be_provisioned() {
    let bed = Bed::new().await;
    let Healthy { m1, m2, .. } = Healthy::of(&bed).await;
    let _calls = try_serve(&m1, "m1", "echo").await.unwrap();
    let queue = ["queues", bed.host.name(), "reply.n1.m2"];
    bed.host.management().delete(&queue).await.unwrap();
    let error = refused(try_ask(&m2, ("m1", "echo"), "?", LONG).await, ErrorKind::Denied);
    assert!(error.to_string().contains("reply.n1.m2"), "{error}");
    let subscribing =
        m1.transport().subscribe(filter("mesh.events.m2.happened"), SubscribeOptions::default());
    let error = refused(come(subscribing).await, ErrorKind::Denied);
    assert!(error.to_string().contains("live.n1.m1"), "{error}");
}

#[tokio::test]
async fn a_second_connection_of_a_caller_is_told_that_its_answers_have_one_reader() {
    let bed = Bed::new().await;
    let m1 = bed.module("n1", "m1").await;
    let mut calls = try_serve(&m1, "m1", "echo").await.unwrap();
    let (first, second) = (bed.alice().await, bed.alice().await);
    let asking = try_ask(&first, ("m1", "echo"), "1", LONG);
    let (answer, _) = tokio::join!(asking, echo(&mut calls));
    answer.unwrap();
    let error = try_ask(&second, ("m1", "echo"), "2", LONG).await.unwrap_err();
    assert!(error.to_string().contains("reply.person.alice"), "{error}");
    come(first.transport().close(LONG)).await;
    let asking = try_ask(&second, ("m1", "echo"), "3", LONG);
    let (answer, _) = tokio::join!(asking, echo(&mut calls));
    assert_eq!(answer.unwrap().payload(), b"3".as_slice());
}
