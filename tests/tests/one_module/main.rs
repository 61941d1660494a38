//! One module, one test: the same code on memory, on NATS and on RabbitMQ, each with exactly the rights
//! that follow from the files. What each wire carries is captured beside it, and is the same byte for
//! byte where protocol §3 says so.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod amqp;
mod captured;
mod memory;
mod module;
mod nats;
mod order;
mod provisioning;

use std::collections::BTreeSet;
use std::time::Duration;

use captured::Captured;
use mesh_core::manifest::Mesh;
use module::{Ground, Seen};

/// How long one thing may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.expect("not in time")
}

/// Runs the module there; what it saw, and what the wire carried.
async fn run<G: Ground>(mesh: &Mesh) -> (Seen, Vec<Captured>) {
    let ground = G::raise(mesh).await;
    let seen = module::run(&ground).await;
    (seen, ground.captured().await)
}

#[tokio::test]
async fn a_module_runs_unchanged_and_every_wire_carries_the_same() {
    let mesh = module::mesh();
    let (seen, carried) = run::<memory::Memory>(&mesh).await;
    assert_eq!(
        carried.iter().map(Captured::what).collect::<Vec<_>>(),
        [
            "mesh.events.mail.letter.sent",
            "mesh.events.audit.seen",
            "mesh.events.mail.answered",
            "mesh.tools.mail.send",
            "an answer",
            "mesh.tools.mail.send",
            "an answer",
        ]
    );
    for (name, (also_seen, also_carried)) in
        [("nats", run::<nats::Nats>(&mesh).await), ("amqp", run::<amqp::Amqp>(&mesh).await)]
    {
        assert_eq!(also_seen, seen, "{name}");
        for (here, there) in carried.iter().zip(&also_carried) {
            assert_eq!(there, here, "{name}");
        }
        assert_eq!(also_carried.len(), carried.len(), "{name}");
    }
}

#[tokio::test]
async fn an_event_is_on_the_wire_as_the_protocol_writes_it() {
    let (_, carried) = run::<amqp::Amqp>(&module::mesh()).await;
    let first = &carried[0];
    let header = |name: &str| first.header(name).unwrap_or_else(|| panic!("no {name}: {first:?}"));
    assert_eq!(header("x-source"), "mail");
    assert_eq!(header("x-node"), "n1");
    assert_eq!(header("x-time"), "2026-01-02T03:04:05.678Z");
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("x-schema"), "2");
    assert_eq!(first.body(), "{\"to\":\"zoë\",\"lines\":[\"a\\\"b\",\"\\u0000\"],\"size\":1.5}");
    assert_eq!(carried[1].header("x-causation-id"), Some(header("x-event-id")));
    // Of one trace are the letter, what its handler said, a question, and what the tool said.
    let mut spans = vec![module::TRACEPARENT];
    for traced in &carried[..4] {
        let header =
            |name: &str| traced.header(name).unwrap_or_else(|| panic!("no {name}: {traced:?}"));
        assert_eq!(header("tracestate"), module::TRACESTATE);
        assert_eq!(header("baggage"), module::BAGGAGE);
        let parent = header("traceparent");
        assert_eq!((&parent[..36], &parent[52..]), (&module::TRACEPARENT[..36], "-01"), "{parent}");
        spans.push(parent);
    }
    assert_eq!(carried[3].what(), "mesh.tools.mail.send");
    let each = spans.iter().collect::<BTreeSet<_>>();
    assert_eq!(each.len(), spans.len(), "each has a span of its own: {spans:?}");
}

#[tokio::test]
async fn a_provider_the_controller_and_a_consumer_run_unchanged_on_memory() {
    provisioning::run(&memory::Memory::raise(&provisioning::mesh()).await).await;
}

#[tokio::test]
async fn a_provider_the_controller_and_a_consumer_run_unchanged_on_nats() {
    provisioning::run(&nats::Nats::raise(&provisioning::mesh()).await).await;
}

#[tokio::test]
async fn a_provider_the_controller_and_a_consumer_run_unchanged_on_rabbitmq() {
    provisioning::run(&amqp::Amqp::raise(&provisioning::mesh()).await).await;
}
