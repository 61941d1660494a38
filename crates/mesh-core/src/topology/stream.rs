use std::time::Duration;

use super::StreamName;
use crate::subject::Filter;

/// What a stream takes and how long it keeps it.
///
/// A full stream refuses what is new and keeps what it has, on every channel: with the opposite,
/// events that an absent consumer still owed were lost without a word (protocol §2).
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is data that adapters interpret whole")]
pub struct StreamSpec {
    /// Which stream.
    pub name: StreamName,
    /// The subjects it takes. Those of different streams don't overlap.
    pub subjects: Vec<Filter>,
    /// When a message is let go.
    pub retention: Retention,
    /// The oldest a message may get, or no limit.
    pub max_age: Option<Duration>,
    /// The most bytes it keeps, payloads and headers.
    pub max_bytes: u64,
    /// The most messages of one subject, or no limit.
    pub max_messages_per_subject: Option<u64>,
    /// The most bytes of one message, headers included, or the broker's own limit.
    pub max_message_bytes: Option<usize>,
    /// The most consumers.
    pub max_consumers: u32,
    /// How long an append's id is remembered.
    pub deduplication_window: Duration,
}

/// When a stream lets a message go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "adapters must handle each")]
pub enum Retention {
    /// A log: when a limit is reached by age; never because somebody read it.
    Log,
    /// Work: when its one consumer has settled it.
    WorkQueue,
    /// The newest of each subject: when a newer one is appended.
    NewestPerSubject,
}
