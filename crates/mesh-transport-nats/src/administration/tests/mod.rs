mod answers;
mod assert;
mod chosen;
mod cluster;
mod consumer_drift;
mod groups;
mod list;
mod look;
mod read;
mod refused;
mod script;
mod server;
mod stream_drift;
mod together;

use mesh_core::name::{ConsumerName, ModuleName, NodeName};
use mesh_core::port::{ConsumerState, Drift};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{ConsumerRef, StreamName, Topology};

/// All streams, the consumers of the controller and the builder, of the node `n1` and of its module
/// `mail`, which consumes `shop.>`.
fn topology() -> Topology {
    with_module(Topology::new().with_node(&node("n1")), "mail")
}

fn with_module(topology: Topology, module: &str) -> Topology {
    let consumes = [Filter::new("shop.>").unwrap()];
    topology.with_module(&node("n1"), &ModuleName::new(module).unwrap(), &consumes).unwrap()
}

/// Of [`topology`] nothing but that stream and its consumers.
fn only(stream: StreamName) -> Topology {
    let others = StreamName::ALL.into_iter().filter(|other| *other != stream);
    others.fold(topology(), Topology::without_stream)
}

fn node(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

fn subject(text: &str) -> Subject {
    Subject::new(text).unwrap()
}

fn consumer(stream: StreamName, name: &str) -> ConsumerRef {
    ConsumerRef::new(stream, ConsumerName::new(name).unwrap())
}

/// Objects and fields that drifted, and whether each was mended.
fn fields(drift: &[Drift]) -> Vec<(&str, &str, bool)> {
    drift.iter().map(|drift| (drift.object.as_str(), drift.field, drift.mended)).collect()
}

/// A consumer that nobody reads, and that has so many messages to get.
fn owed(pending: u64) -> ConsumerState {
    ConsumerState { pending, in_flight: Some(0), redelivered: Some(0), is_read: Some(false) }
}
