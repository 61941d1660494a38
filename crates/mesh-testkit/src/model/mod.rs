//! Random operations on a durable broker, compared step by step with a simple model of what it
//! promises: every delivery must be one that the model admits, nothing that the model owes may be
//! missing, and what the broker counts must be what the model counts.
//!
//! Which of several messages that are due comes first, and which of several readers gets it, is the
//! broker's to choose; the model follows its choice.
//!
//! It works on any harness with the capabilities in [`NEEDS`]; one that can't move its time takes as
//! long as the operations say.

mod bench;
mod check;
mod consumer;
mod state;
mod world;

use std::fmt;
use std::time::Duration;

use mesh_core::port::Capability;

pub use check::check;

/// What a broker must promise to be compared. Dead letters are compared where they are promised.
pub const NEEDS: [Capability; 5] = [
    Capability::DurableConsumers,
    Capability::Deduplication,
    Capability::Sequences,
    Capability::ClaimTimeout,
    Capability::DelayedNak,
];

/// One step. An index counts within whatever is there, modulo how many there are; where there is
/// nothing, the step does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a test matches on each")]
pub enum Operation {
    /// Appends a message.
    Append {
        /// To which of three subjects: two of events, one of reports.
        subject: u8,
        /// Under which id, or none.
        id: Option<u8>,
    },
    /// One more reader, on a connection of its own.
    Attach {
        /// Of which of three consumers: two of events, one of work.
        consumer: u8,
    },
    /// Drops a reader and all that it holds.
    Detach {
        /// Which reader.
        reader: u8,
    },
    /// Closes a reader's connection while it holds what it holds, and attaches anew.
    Reconnect {
        /// Which reader.
        reader: u8,
    },
    /// Acknowledges.
    Ack {
        /// Which held delivery.
        held: u8,
    },
    /// Gives back.
    Nak {
        /// Which held delivery.
        held: u8,
        /// Seconds to wait, or at once.
        delay: Option<u8>,
    },
    /// Gives up.
    Terminate {
        /// Which held delivery.
        held: u8,
    },
    /// Says that work goes on.
    Progress {
        /// Which held delivery.
        held: u8,
    },
    /// Drops a delivery unsettled.
    Drop {
        /// Which held delivery.
        held: u8,
    },
    /// Lets time pass.
    Advance {
        /// How many seconds.
        seconds: u8,
    },
    /// Retires a consumer for good.
    Retire {
        /// Which of three consumers.
        consumer: u8,
    },
}

/// Where broker and model came apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    step: usize,
    operation: Option<Operation>,
    problem: String,
}

impl Divergence {
    /// The index of the operation; their number, if it was the dead letters at the end.
    #[must_use]
    pub fn step(&self) -> usize {
        self.step
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.operation {
            Some(operation) => write!(f, "step {}, {operation:?}: {}", self.step, self.problem),
            None => write!(f, "beside the steps: {}", self.problem),
        }
    }
}

impl std::error::Error for Divergence {}

const fn seconds(count: u8) -> Duration {
    Duration::from_secs(count as u64)
}
