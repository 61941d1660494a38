//! Which realms may hear which events, as the rules that are in force have it.

use std::sync::{Arc, PoisonError, RwLock};

use mesh_core::guard::{Inbound, Policy, Ruling};
use mesh_federation::edge::EdgeRules;

/// The policy of the gateway, for leases: replaced with it.
#[derive(Debug)]
pub(super) struct Hearers(RwLock<Option<Arc<dyn Policy>>>);

impl Hearers {
    pub(super) fn of(rules: &EdgeRules) -> Self {
        Self(RwLock::new(rules.enforced_policy()))
    }

    /// From now on the same as `other`.
    pub(super) fn become_of(&self, other: Self) {
        let other = other.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = other;
    }
}

impl Policy for Hearers {
    fn rule(&self, inbound: &Inbound<'_>) -> Ruling {
        let policy = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        policy.map_or(Ruling::Allow, |policy| policy.rule(inbound))
    }
}
