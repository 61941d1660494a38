//! What is asked of a raising, and what came of it.

use mesh_core::port::{Held, TransportError};
use mesh_core::time::Timestamp;

use super::judge::{Judged, Verdict};
use super::stranger::Stranger;

/// What is done about what is missing and what differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it is one of the three")]
pub enum Mode {
    /// Nothing: it is told.
    Look,
    /// What is missing is made; what differs is told.
    Raise,
    /// What is missing is made; what differs is put right where that is harmless.
    Mend,
}

/// What came of it. Nothing of it is lost where it was broken off: `stopped` says why.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Raised {
    /// What was made.
    pub made: Vec<Held>,
    /// What is asked for and is not there, as far as it was seen. Empty, unless nothing was to be made or it
    /// was broken off.
    pub missing: Vec<Held>,
    /// How many of what is asked for were there already.
    pub found: usize,
    /// What differs, by object.
    pub drift: Vec<Judged>,
    /// What nobody asked for, where the broker lists what it holds.
    pub strangers: Vec<Stranger>,
    /// When NODES was created, in the broker's milliseconds: the epoch of what the controller declares
    /// (protocol §2). Nothing where the broker doesn't say.
    pub epoch: Option<Timestamp>,
    /// What can't be seen on this broker.
    pub unseen: Vec<&'static str>,
    /// Why it went no further.
    pub stopped: Option<Stopped>,
}

/// Why a raising went no further. It goes on where it was when it is run again.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stopped {
    /// What was being done.
    pub doing: &'static str,
    /// Why it could not be done.
    pub error: TransportError,
}

impl Raised {
    /// Whether the broker holds all that was asked for, as it was asked for.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let mended = |judged: &Judged| judged.verdict == Verdict::Mended;
        self.stopped.is_none() && self.missing.is_empty() && self.drift.iter().all(mended)
    }
}
