use std::collections::BTreeMap;
use std::time::Duration;

use super::{
    ConsumerRef, ConsumerRules, ConsumerSpec, DeliverFrom, Retention, StreamName, StreamSpec,
};
use crate::name::{ConsumerName, ModuleName, NodeName};
use crate::subject::{Filter, SubjectError};

const MIB: u64 = 1024 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const DEDUPLICATION_WINDOW: Duration = Duration::from_secs(120);
/// What a message's headers and the broker's own additions may take of `max_payload`.
const HEADER_ROOM: usize = 64 * 1024;

/// What the controller asserts on the broker: streams, and the durable consumers of whoever is
/// part of the mesh now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    streams: Vec<StreamSpec>,
    consumers: Vec<ConsumerSpec>,
}

impl Topology {
    /// The six streams and the controller's and builder's consumers, for a broker whose largest
    /// payload is 1 MiB.
    #[must_use]
    pub fn new() -> Self {
        let streams = StreamName::ALL.into_iter().map(stream).collect();
        let mut topology = Self { streams, consumers: Vec::new() };
        for (stream, name) in [
            (StreamName::Control, "controller"),
            (StreamName::Builds, "builder"),
            (StreamName::Advisories, "controller"),
        ] {
            let consumer = work_consumer(&topology, stream, name);
            topology = topology.with_consumer(consumer);
        }
        topology
    }

    /// The same with the consumer of declarations of `node`.
    #[must_use]
    pub fn with_node(self, node: &NodeName) -> Self {
        self.with_consumer(Self::of_node(node))
    }

    /// The same with the event consumer of `module` on `node`. `consumes` are filters over
    /// `<module>.<event>`; its own replays are added (protocol §2). A module that consumes nothing
    /// has no consumer.
    ///
    /// # Errors
    /// `TooLong` where a filter below `mesh.events` exceeds a subject's length.
    pub fn with_module(
        self,
        node: &NodeName,
        module: &ModuleName,
        consumes: &[Filter],
    ) -> Result<Self, SubjectError> {
        match Self::of_module(node, module, consumes)? {
            Some(consumer) => Ok(self.with_consumer(consumer)),
            None => Ok(self),
        }
    }

    fn of_module(
        node: &NodeName,
        module: &ModuleName,
        consumes: &[Filter],
    ) -> Result<Option<ConsumerSpec>, SubjectError> {
        if consumes.is_empty() {
            return Ok(None);
        }
        let name = ConsumerName::of_module(node, module);
        let filters = Self::arriving(&name, consumes)?;
        Ok(Some(ConsumerSpec {
            reference: ConsumerRef::new(StreamName::Events, name),
            filters,
            rules: ConsumerRules::of(StreamName::Events),
            deliver_from: DeliverFrom::New,
        }))
    }

    fn of_node(node: &NodeName) -> ConsumerSpec {
        ConsumerSpec {
            reference: ConsumerRef::new(StreamName::Nodes, ConsumerName::of_node(node)),
            filters: vec![Filter::from_checked(format!("mesh.node.{node}.declare"))],
            rules: ConsumerRules::of(StreamName::Nodes),
            deliver_from: DeliverFrom::LastPerSubject,
        }
    }

    /// That of all these nodes and modules, of which no two are the same: each is not compared with all
    /// others, which ten thousand of them would feel.
    pub(crate) fn of<'a>(
        nodes: &[NodeName],
        modules: impl Iterator<Item = (&'a NodeName, &'a ModuleName, &'a [Filter])>,
    ) -> Result<Self, SubjectError> {
        let mut topology = Self::new();
        topology.consumers.extend(nodes.iter().map(Self::of_node));
        for (node, module, consumes) in modules {
            topology.consumers.extend(Self::of_module(node, module, consumes)?);
        }
        Ok(topology)
    }

    /// The same with this consumer, in place of one of the same name.
    #[must_use]
    pub fn with_consumer(mut self, consumer: ConsumerSpec) -> Self {
        self.consumers.retain(|other| other.reference != consumer.reference);
        self.consumers.push(consumer);
        self
    }

    /// The same with these consumers, each in place of one of the same name.
    #[must_use]
    pub fn with_consumers(mut self, consumers: impl IntoIterator<Item = ConsumerSpec>) -> Self {
        let new: BTreeMap<ConsumerRef, ConsumerSpec> =
            consumers.into_iter().map(|consumer| (consumer.reference.clone(), consumer)).collect();
        self.consumers.retain(|other| !new.contains_key(&other.reference));
        self.consumers.extend(new.into_values());
        self
    }

    /// The same with this stream in place of the one of its name.
    #[must_use]
    pub fn with_stream(mut self, stream: StreamSpec) -> Self {
        self.streams.retain(|other| other.name != stream.name);
        self.streams.push(stream);
        self
    }

    /// The same without that stream and its consumers.
    #[must_use]
    pub fn without_stream(mut self, name: StreamName) -> Self {
        self.streams.retain(|stream| stream.name != name);
        self.consumers.retain(|consumer| consumer.reference.stream != name);
        self
    }

    /// The streams.
    #[must_use]
    pub fn streams(&self) -> &[StreamSpec] {
        &self.streams
    }

    /// The consumers.
    #[must_use]
    pub fn consumers(&self) -> &[ConsumerSpec] {
        &self.consumers
    }

    /// That stream.
    #[must_use]
    pub fn stream(&self, name: StreamName) -> Option<&StreamSpec> {
        self.streams.iter().find(|stream| stream.name == name)
    }

    /// That consumer.
    #[must_use]
    pub fn consumer(&self, reference: &ConsumerRef) -> Option<&ConsumerSpec> {
        self.consumers.iter().find(|consumer| consumer.reference == *reference)
    }
}

impl Default for Topology {
    fn default() -> Self {
        Self::new()
    }
}

fn stream(name: StreamName) -> StreamSpec {
    let subjects = stream_subjects(name);
    let spec = StreamSpec {
        name,
        subjects: subjects.iter().map(|text| Filter::from_checked((*text).to_owned())).collect(),
        retention: Retention::Log,
        max_age: None,
        max_bytes: 64 * MIB,
        max_messages_per_subject: None,
        max_message_bytes: Some(1024 * 1024 - HEADER_ROOM),
        max_consumers: 1,
        deduplication_window: DEDUPLICATION_WINDOW,
    };
    match name {
        // A subject's share is bounded, in messages and in bytes, so one enrolment token or one node can't
        // fill the queue: at most half of it.
        StreamName::Control => StreamSpec {
            retention: Retention::WorkQueue,
            max_messages_per_subject: Some(250),
            max_message_bytes: Some(128 * 1024),
            ..spec
        },
        StreamName::Nodes => StreamSpec {
            retention: Retention::NewestPerSubject,
            max_messages_per_subject: Some(1),
            max_consumers: 100_000,
            ..spec
        },
        StreamName::Builds => StreamSpec { retention: Retention::WorkQueue, ..spec },
        StreamName::Events => StreamSpec {
            max_age: Some(7 * DAY),
            max_bytes: 1024 * MIB,
            max_messages_per_subject: Some(1_000_000),
            max_consumers: 100_000,
            ..spec
        },
        // A dead letter carries up to the whole event and its own headers.
        StreamName::EventsDead => {
            StreamSpec { max_age: Some(30 * DAY), max_message_bytes: None, ..spec }
        }
        StreamName::Advisories => StreamSpec { max_age: Some(7 * DAY), ..spec },
    }
}

/// What each stream takes. A stream can't subtract, so CONTROL lists what is not `alive`.
const fn stream_subjects(name: StreamName) -> &'static [&'static str] {
    match name {
        StreamName::Control => {
            &["mesh.control.*.report", "mesh.control.enrol", "mesh.control.built"]
        }
        StreamName::Nodes => &["mesh.node.*.declare"],
        StreamName::Builds => &["mesh.build.request"],
        StreamName::Events => &["mesh.events.*.>", "mesh.replay.*.>"],
        StreamName::EventsDead => &["mesh.events.dead"],
        StreamName::Advisories => &[
            "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.*",
            "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.EVENTS.*",
        ],
    }
}

fn work_consumer(topology: &Topology, stream: StreamName, name: &str) -> ConsumerSpec {
    let filters = topology.stream(stream).map(|spec| spec.subjects.clone()).unwrap_or_default();
    ConsumerSpec {
        reference: ConsumerRef::new(stream, ConsumerName::fixed(name)),
        filters,
        rules: ConsumerRules::of(stream),
        deliver_from: DeliverFrom::All,
    }
}
