use super::{Mode, Stage};

/// What a chain has counted, as of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChainCounters {
    /// Messages that came to the chain.
    pub checked: u64,
    /// Arrivals that were no envelope, so that no guard saw them
    /// ([`GuardChain::undecodable`](super::GuardChain::undecodable)). Not among those checked.
    pub undecodable: u64,
    /// Each guard's counts, in the order of the chain.
    pub guards: Vec<GuardCounters>,
}

impl ChainCounters {
    /// No counts.
    #[must_use]
    pub const fn none() -> Self {
        Self { checked: 0, undecodable: 0, guards: Vec::new() }
    }

    /// The counts of the guard of this name.
    #[must_use]
    pub fn of(&self, guard: &str) -> Option<&GuardCounters> {
        self.guards.iter().find(|counters| counters.guard == guard)
    }
}

/// What one guard has counted. A message that is within the chain while the counts are read is
/// counted as passed by the guards it has not reached.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardCounters {
    /// Its name.
    pub guard: &'static str,
    /// Its place in the order.
    pub stage: Stage,
    /// Whether it is enforced.
    pub mode: Mode,
    /// Messages that it let go on.
    pub passed: u64,
    /// Messages that it refused.
    pub refused: u64,
    /// Messages that it would have refused.
    pub shadow_refused: u64,
    /// The guard's own numbers, by name.
    pub figures: Vec<(&'static str, u64)>,
}

impl GuardCounters {
    /// The counts of a guard that has seen nothing yet.
    #[must_use]
    pub const fn new(guard: &'static str, stage: Stage, mode: Mode) -> Self {
        Self { guard, stage, mode, passed: 0, refused: 0, shadow_refused: 0, figures: Vec::new() }
    }
}
