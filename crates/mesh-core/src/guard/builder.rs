use super::{Guard, GuardChain};

/// A guard's place in the order of protocol §8. The chain sorts by it, so the order of the calls
/// that build a chain does not matter; guards of one stage keep the order in which they were added.
///
/// A guard of one's own comes after the standard guard of its stage: to stand between relay and
/// replay, it says `Relay` or `Security`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Stage {
    /// 1. Is it meant for this realm?
    Addressed,
    /// 2. Is it still worth handling?
    Expiry,
    /// 3. Does the answer go back to where it came from?
    Relay,
    /// 4. Is the sender proven?
    Security,
    /// 5. Is it new?
    Replay,
    /// 6. Is there room for it?
    Rate,
    /// 7. Is it allowed?
    Policy,
}

/// What a guard's refusal does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "refuse or don't")]
pub enum Mode {
    /// The message stops there.
    Enforce,
    /// It is counted and traced, and the message goes on. The guard works as if enforced
    /// otherwise: it remembers, reserves and uses up what it would.
    Shadow,
}

/// Builds a [`GuardChain`].
///
/// ```
/// use mesh_core::guard::{Addressed, Expiry, GuardChain, PolicyGuard, PrefixDeny, Relay};
/// use mesh_core::name::RealmName;
///
/// let chain = GuardChain::builder()
///     .shadow(PolicyGuard::new(PrefixDeny::new(["admin"])))
///     .enforce(Relay)
///     .enforce(Expiry::default())
///     .enforce(Addressed::to(RealmName::new("acme.com")?))
///     .build();
/// let names: Vec<_> = chain.counters().guards.iter().map(|g| g.guard).collect();
/// assert_eq!(names, ["addressed", "expiry", "relay", "policy"]);
/// # Ok::<(), mesh_core::name::NameError>(())
/// ```
#[derive(Debug, Default)]
#[must_use]
pub struct ChainBuilder {
    guards: Vec<(Mode, Box<dyn Guard>)>,
}

impl ChainBuilder {
    /// Adds a guard that refuses.
    pub fn enforce(self, guard: impl Guard + 'static) -> Self {
        self.guard(Mode::Enforce, guard)
    }

    /// Adds a guard that only counts.
    pub fn shadow(self, guard: impl Guard + 'static) -> Self {
        self.guard(Mode::Shadow, guard)
    }

    /// Adds a guard in this mode.
    pub fn guard(mut self, mode: Mode, guard: impl Guard + 'static) -> Self {
        self.guards.push((mode, Box::new(guard)));
        self
    }

    /// The chain, its guards in the order of their stages.
    #[must_use]
    pub fn build(mut self) -> GuardChain {
        self.guards.sort_by_key(|(_, guard)| guard.stage());
        GuardChain::new(self.guards)
    }
}
