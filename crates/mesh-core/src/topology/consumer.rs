use std::time::Duration;

use crate::port::ConsumerRef;
use crate::subject::Filter;

/// What a durable consumer is given and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is data that adapters interpret whole")]
pub struct ConsumerSpec {
    /// Which consumer of which stream.
    pub reference: ConsumerRef,
    /// What it selects: at least one, none inside another.
    pub filters: Vec<Filter>,
    /// How long a delivery may stay unsettled before it is given again.
    pub ack_wait: Duration,
    /// How many tries a message has, or no limit.
    pub max_deliver: Option<u32>,
    /// How many deliveries may be unsettled over all readers.
    pub max_ack_pending: usize,
    /// Where it begins when it is created.
    pub deliver_from: DeliverFrom,
    /// Whether its readers form a queue group named like it. Without, there is one reader.
    pub shared: bool,
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
