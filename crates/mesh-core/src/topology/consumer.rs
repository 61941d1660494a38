use std::fmt;
use std::time::Duration;

use super::StreamName;
use crate::name::ConsumerName;
use crate::subject::Filter;

/// A durable consumer of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "it is a pair")]
pub struct ConsumerRef {
    /// The stream.
    pub stream: StreamName,
    /// The consumer's name in it.
    pub consumer: ConsumerName,
}

impl ConsumerRef {
    /// This consumer of that stream.
    #[must_use]
    pub fn new(stream: StreamName, consumer: ConsumerName) -> Self {
        Self { stream, consumer }
    }
}

impl fmt::Display for ConsumerRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.stream, self.consumer)
    }
}

/// What a durable consumer is given and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is data that adapters interpret whole")]
pub struct ConsumerSpec {
    /// Which consumer of which stream.
    pub reference: ConsumerRef,
    /// What it selects: at least one, none inside another.
    pub filters: Vec<Filter>,
    /// How its deliveries are claimed and tried.
    pub rules: ConsumerRules,
    /// Where it begins when it is created.
    pub deliver_from: DeliverFrom,
}

/// How a consumer's deliveries are claimed and tried. Whoever reads one may not ask the broker: it goes
/// by these, which follow from the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is data that adapters interpret whole")]
pub struct ConsumerRules {
    /// How long a delivery may stay unsettled before it is given again.
    pub ack_wait: Duration,
    /// How many tries a message has, or no limit.
    pub max_deliver: Option<u32>,
    /// How many deliveries may be unsettled over all readers.
    pub max_ack_pending: usize,
    /// Whether its readers form a queue group named like it. Without, there is one reader.
    pub shared: bool,
}

impl ConsumerRules {
    /// Those of the protocol (§2): events have five tries and many readers; work and notices are
    /// claimed one at a time, which keeps their order through a nak with a delay, and have no limit
    /// of tries, since a store that is away is not the message's fault; declarations have one reader.
    #[must_use]
    pub const fn of(stream: StreamName) -> Self {
        let work = Self {
            ack_wait: Duration::from_secs(30),
            max_deliver: None,
            max_ack_pending: 1,
            shared: true,
        };
        match stream {
            StreamName::Events => Self { max_deliver: Some(5), max_ack_pending: 1000, ..work },
            StreamName::Nodes => Self { shared: false, ..work },
            StreamName::Control
            | StreamName::Builds
            | StreamName::EventsDead
            | StreamName::Advisories => work,
        }
    }
}

/// Where a consumer begins when it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "adapters must handle each")]
pub enum DeliverFrom {
    /// The oldest message kept.
    All,
    /// What is appended from now on.
    New,
    /// The newest of each subject, then what is appended.
    LastPerSubject,
}
