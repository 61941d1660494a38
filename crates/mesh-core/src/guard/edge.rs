use std::sync::Arc;
use std::time::Duration;

use super::{
    Addressed, ChainBuilder, Expiry, Guard, GuardChain, HashSecret, Mode, Policy, PolicyGuard,
    Rate, RateLimits, Relay, Replay, ReplayLimits, Stage,
};
use crate::name::RealmName;

/// What the standard chain of a gateway is made from (protocol §8); see
/// [`GuardChain::standard`].
#[derive(Debug)]
#[non_exhaustive]
pub struct EdgeGuards {
    /// The realm that the gateway stands for.
    pub realm: RealmName,
    /// Random bits that keep outsiders from choosing what shares a place in a table.
    pub secret: HashSecret,
    /// How far the senders' clocks may be behind; see [`Expiry::with_leeway`].
    pub leeway: Duration,
    /// How much is remembered against replays.
    pub replay: ReplayLimits,
    /// How much may come in.
    pub rate: RateLimits,
    /// What is allowed. All is, unless told.
    pub policy: Option<Arc<dyn Policy>>,
    /// The stages whose standard guards only count.
    pub shadow: Vec<Stage>,
}

impl EdgeGuards {
    /// The guards of this realm with the default limits, all enforced, without a policy.
    #[must_use]
    pub fn new(realm: RealmName, secret: HashSecret) -> Self {
        Self {
            realm,
            secret,
            leeway: Duration::ZERO,
            replay: ReplayLimits::default(),
            rate: RateLimits::default(),
            policy: None,
            shadow: Vec::new(),
        }
    }

    pub(super) fn into_builder(self) -> ChainBuilder {
        let shadow = self.shadow;
        let add = |builder: ChainBuilder, guard: Arc<dyn Guard>| {
            let mode = if shadow.contains(&guard.stage()) { Mode::Shadow } else { Mode::Enforce };
            builder.guard(mode, guard)
        };
        let mut guards: Vec<Arc<dyn Guard>> = vec![
            Arc::new(Addressed::to(self.realm)),
            Arc::new(Expiry::with_leeway(self.leeway)),
            Arc::new(Relay),
            Arc::new(Replay::new(self.replay, self.secret.clone())),
            Arc::new(Rate::new(&self.rate, self.secret)),
        ];
        if let Some(policy) = self.policy {
            guards.push(Arc::new(PolicyGuard::new(policy)));
        }
        guards.into_iter().fold(GuardChain::builder(), add)
    }
}
