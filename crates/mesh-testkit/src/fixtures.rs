//! Names, principals and messages for tests. Each panics on text that is none, and says why: it is
//! for literals in tests only.

use std::fmt::Display;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::message::{HeaderName, HeaderValue, Message};
use mesh_core::name::{
    ConsumerName, EventName, InstanceName, ModuleName, NodeName, PersonName, ToolName,
};
use mesh_core::permissions::{Permissions, Rules};
use mesh_core::port::QueueGroup;
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{
    ConsumerRef, ConsumerRules, ConsumerSpec, DeliverFrom, Inbox, MeshSubject, StreamName,
    StreamSpec, Topology,
};

/// What `result` holds, or a panic with its error at the caller's line.
#[track_caller]
#[expect(clippy::panic, reason = "a wrong literal in a test must stop the test")]
pub(crate) fn valid<T, E: Display>(result: Result<T, E>, text: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("fixture {text:?}: {error}"),
    }
}

/// A node's name.
#[track_caller]
#[must_use]
pub fn node(name: &str) -> NodeName {
    valid(NodeName::new(name), name)
}

/// A module's name.
#[track_caller]
#[must_use]
pub fn module_name(name: &str) -> ModuleName {
    valid(ModuleName::new(name), name)
}

/// An event's name.
#[track_caller]
#[must_use]
pub fn event_name(name: &str) -> EventName {
    valid(EventName::new(name), name)
}

/// A tool's name.
#[track_caller]
#[must_use]
pub fn tool_name(name: &str) -> ToolName {
    valid(ToolName::new(name), name)
}

/// A subject.
#[track_caller]
#[must_use]
pub fn subject(text: &str) -> Subject {
    valid(Subject::new(text), text)
}

/// A filter.
#[track_caller]
#[must_use]
pub fn filter(text: &str) -> Filter {
    valid(Filter::new(text), text)
}

/// A queue group.
#[track_caller]
#[must_use]
pub fn group(name: &str) -> QueueGroup {
    valid(QueueGroup::new(name), name)
}

/// A message with this body.
#[track_caller]
#[must_use]
pub fn message(to: &str, body: &str) -> Message {
    Message::new(subject(to), body.to_owned())
}

/// A header.
#[track_caller]
#[must_use]
pub fn header(name: &str, value: &str) -> (HeaderName, HeaderValue) {
    (
        valid(HeaderName::new(name.to_owned()), name),
        valid(HeaderValue::new(value.to_owned()), value),
    )
}

/// The module `module` on the node `node_name`.
#[track_caller]
#[must_use]
pub fn module(node_name: &str, module: &str) -> Principal {
    Principal::Module { node: node(node_name), module: module_name(module) }
}

/// The host of a node.
#[track_caller]
#[must_use]
pub fn host(node_name: &str) -> Principal {
    Principal::Host { node: node(node_name) }
}

/// The builder on a node.
#[track_caller]
#[must_use]
pub fn builder(node_name: &str) -> Principal {
    Principal::Builder { node: node(node_name) }
}

/// A person.
#[track_caller]
#[must_use]
pub fn person(name: &str) -> Principal {
    Principal::Person { name: valid(PersonName::new(name), name) }
}

/// The controller, instance `c1`.
#[must_use]
pub fn controller() -> Principal {
    Principal::Controller { name: valid(InstanceName::new("c1"), "c1") }
}

/// The subject of a module's event.
#[track_caller]
#[must_use]
pub fn event(module: &str, event: &str) -> Subject {
    let subject = MeshSubject::Event { module: module_name(module), event: event_name(event) };
    valid(subject.to_subject(), event)
}

/// The subject of a module's tool.
#[track_caller]
#[must_use]
pub fn tool(module: &str, tool: &str) -> Subject {
    let subject = MeshSubject::Tool { module: module_name(module), tool: tool_name(tool) };
    valid(subject.to_subject(), tool)
}

/// May publish to these subjects and its own echoes, and subscribe to these filters and its own inbox.
#[track_caller]
#[must_use]
pub fn permissions(of: &Principal, publish: &[&str], subscribe: &[&str]) -> Permissions {
    let inbox = Inbox::of(of);
    let filters = |texts: &[&str]| texts.iter().map(|text| filter(text)).collect::<Vec<_>>();
    Permissions {
        publish: Rules::allow(filters(publish)).also([inbox.echo_filter()]),
        subscribe: Rules::allow(filters(subscribe)).also([inbox.filter()]),
        responses: None,
    }
}

/// That consumer of that stream.
#[track_caller]
#[must_use]
pub fn consumer(stream: StreamName, name: &str) -> ConsumerRef {
    ConsumerRef::new(stream, valid(ConsumerName::new(name), name))
}

/// A shared consumer that begins at the oldest message: three tries, as many claims as it likes.
#[track_caller]
#[must_use]
pub fn consumer_spec(reference: ConsumerRef, filters: &[&str], ack_wait: Duration) -> ConsumerSpec {
    ConsumerSpec {
        reference,
        filters: filters.iter().map(|text| filter(text)).collect(),
        rules: ConsumerRules {
            ack_wait,
            max_deliver: Some(3),
            max_ack_pending: 1000,
            shared: true,
        },
        deliver_from: DeliverFrom::All,
    }
}

/// `topology` with one of its streams changed.
///
/// # Panics
/// Where it has no such stream.
#[track_caller]
#[must_use]
pub fn with_stream(
    topology: Topology,
    name: StreamName,
    change: impl FnOnce(&mut StreamSpec),
) -> Topology {
    let found = topology.stream(name).cloned().ok_or("no such stream");
    let mut spec = valid(found, name.as_str());
    change(&mut spec);
    topology.with_stream(spec)
}
