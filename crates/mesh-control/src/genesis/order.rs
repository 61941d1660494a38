//! In which order what is missing is made, so that a mesh that is raised halfway loses nothing.
//!
//! - Where dead letters and notices go comes before whoever's deliveries they are of.
//! - A work queue keeps what comes until it has its consumer, and a stream of declarations the newest.
//! - A consumer of events begins with what is appended after it was made. So EVENTS takes nothing until all
//!   its consumers are there: it is made with room for [one byte](CLOSED), which refuses every event to its
//!   emitter, who may try again. Then it is opened.

use mesh_core::port::Held;
use mesh_core::topology::{ConsumerSpec, StreamName, StreamSpec, Topology};

use super::presence::{named, nothing};

/// The size of EVENTS while its consumers are made.
pub(super) const CLOSED: u64 = 1;

/// How many consumers are made by one assertion, so that it is known how far it got.
const AT_ONCE: usize = 64;

const ORDER: [StreamName; 6] = [
    StreamName::EventsDead,
    StreamName::Advisories,
    StreamName::Control,
    StreamName::Builds,
    StreamName::Nodes,
    StreamName::Events,
];

/// What is asserted together.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) topology: Topology,
}

impl Step {
    /// What of it is made, if it is not there.
    pub(super) fn objects(&self) -> impl Iterator<Item = Held> + '_ {
        named(&self.topology)
    }
}

/// The steps that make what `is_missing` of a topology; none for what is there.
pub(super) fn steps(topology: &Topology, is_missing: impl Fn(&Held) -> bool) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut known: Vec<StreamName> = ORDER.to_vec();
    known.extend(
        topology.streams().iter().map(|spec| spec.name).filter(|name| !ORDER.contains(name)),
    );
    for name in known {
        let Some(stream) = topology.stream(name) else { continue };
        let consumers = topology.consumers().iter();
        let missing: Vec<&ConsumerSpec> = consumers
            .filter(|spec| spec.reference.stream == name)
            .filter(|spec| is_missing(&Held::Consumer(spec.reference.clone())))
            .collect();
        if is_missing(&Held::Stream(name)) {
            steps.push(step(stream, &[]));
        }
        steps.extend(missing.chunks(AT_ONCE).map(|some| step(stream, some)));
    }
    steps
}

fn step(stream: &StreamSpec, consumers: &[&ConsumerSpec]) -> Step {
    let topology = nothing().with_stream(stream.clone());
    Step { topology: topology.with_consumers(consumers.iter().map(|spec| (*spec).clone())) }
}

/// The topology with EVENTS closed.
pub(super) fn closed(topology: &Topology) -> Topology {
    match topology.stream(StreamName::Events) {
        None => topology.clone(),
        Some(events) => {
            topology.clone().with_stream(StreamSpec { max_bytes: CLOSED, ..events.clone() })
        }
    }
}
