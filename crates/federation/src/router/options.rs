use std::num::NonZeroUsize;
use std::time::Duration;

use mesh_core::mx::{DEFAULT_MAX_BYTES, Shard};

/// How a [`RouterBridge`](super::RouterBridge) works.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct RouterOptions {
    /// The shard of its own inbox, of its neighbours' and of its realm's mailbox. `00` unless told.
    pub shard: Shard,
    /// The most bytes of an envelope. [`DEFAULT_MAX_BYTES`] unless told.
    pub max_bytes: usize,
    /// How many arrivals may wait to be looked at. 1024 unless told.
    pub buffer: NonZeroUsize,
    /// How many messages may wait for one neighbour. 256 unless told.
    pub waiting_each: usize,
    /// How many bytes may wait for all neighbours together. 64 MiB unless told.
    pub waiting_bytes: usize,
    /// How long the backbone may take for one message. 5 s unless told.
    pub timeout: Duration,
}

impl Default for RouterOptions {
    fn default() -> Self {
        Self {
            shard: Shard::default(),
            max_bytes: DEFAULT_MAX_BYTES,
            buffer: NonZeroUsize::MIN.saturating_add(1023),
            waiting_each: 256,
            waiting_bytes: 64 << 20,
            timeout: Duration::from_secs(5),
        }
    }
}

/// What became of the messages that waited for a neighbour when a router was closed. What it had not read
/// from its inbox yet is gone, as live messages are that nobody listens to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "two counts and no more")]
pub struct RouterClosed {
    /// Passed on or dropped for a reason during the close.
    pub finished: u64,
    /// Not passed on in time.
    pub lost: u64,
}
