use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::topology::{ConsumerRef, ConsumerRules, ConsumerSpec, StreamName, Topology};

use crate::fixtures::{consumer, consumer_spec, controller, filter, module, with_stream};

/// How long a delivery may stay unsettled.
pub(super) const ACK_WAIT: Duration = Duration::from_secs(30);
/// How long an id is known: never exactly as long as some whole number of seconds.
pub(super) const WINDOW: Duration = Duration::from_millis(60_500);
/// How many deliveries one reader may hold.
pub(super) const IN_FLIGHT: usize = 3;

pub(super) const SUBJECTS: [(&str, StreamName); 3] = [
    ("mesh.events.shop.sold", StreamName::Events),
    ("mesh.events.shop.left", StreamName::Events),
    ("mesh.control.n1.report", StreamName::Control),
];

/// The consumers: everything of the shop in three tries and at most four at a time; one event
/// without a limit; reports one at a time.
pub(super) fn consumers() -> [ConsumerSpec; 3] {
    let events = |name, selects: &str| {
        let of = consumer(StreamName::Events, name);
        consumer_spec(of, &[selects], ACK_WAIT)
    };
    let control = consumer(StreamName::Control, "controller");
    [
        with(events("n1_mail", "mesh.events.shop.>"), |rules| rules.max_ack_pending = 4),
        with(events("n1_crm", "mesh.events.shop.sold"), |rules| rules.max_deliver = None),
        with(consumer_spec(control, &["mesh.control.n1.report"], ACK_WAIT), |rules| {
            rules.max_deliver = None;
            rules.max_ack_pending = 1;
        }),
    ]
}

fn with(mut spec: ConsumerSpec, change: impl FnOnce(&mut ConsumerRules)) -> ConsumerSpec {
    change(&mut spec.rules);
    spec
}

/// Who reads that consumer.
pub(super) fn reader_of(consumer: usize) -> Principal {
    match consumer {
        0 => module("n1", "mail"),
        1 => module("n1", "crm"),
        _ => controller(),
    }
}

/// The consumer of dead letters.
pub(super) fn dead_letters() -> ConsumerRef {
    consumer(StreamName::EventsDead, "controller")
}

pub(super) fn topology() -> Topology {
    let window = |topology, name| {
        with_stream(topology, name, |stream| {
            stream.deduplication_window = WINDOW;
        })
    };
    let topology = window(Topology::new(), StreamName::Events);
    let topology = window(topology, StreamName::Control);
    let [first, second, third] = consumers();
    let dead = ConsumerSpec {
        filters: vec![filter("mesh.events.dead")],
        ..consumer_spec(dead_letters(), &[], ACK_WAIT)
    };
    topology.with_consumer(first).with_consumer(second).with_consumer(third).with_consumer(dead)
}
