use std::sync::Arc;

use arc_swap::ArcSwap;
use mesh_core::guard::{
    Addressed, ChainCounters, Expiry, Guard, HashSecret, Mode, PolicyGuard, Rate, RateLimits,
    Relay, Replay, ReplayLimits, Stage,
};
use mesh_core::name::RealmName;
use parking_lot::Mutex;

use super::super::{EdgeRules, RulesError};
use super::{Closed, GuardSet};

/// The guards in force, and what survives when they are replaced: marks against replays, the buckets
/// of the rate limit, and what was counted.
#[derive(Debug)]
pub(crate) struct Shelf {
    now: ArcSwap<GuardSet>,
    lasting: Mutex<Lasting>,
}

#[derive(Debug)]
struct Lasting {
    realm: RealmName,
    secret: HashSecret,
    replay: Arc<Replay>,
    rate: (RateLimits, Arc<Rate>),
    /// Sets that were replaced while messages were still in them.
    leaving: Vec<Arc<GuardSet>>,
    /// What all sets counted that are gone.
    gone: ChainCounters,
}

impl Shelf {
    pub(crate) fn new(
        realm: RealmName,
        secret: HashSecret,
        replay: ReplayLimits,
        rules: EdgeRules,
    ) -> Result<Self, RulesError> {
        let replay = Arc::new(Replay::new(replay, secret.clone()));
        let rate = Arc::new(Rate::new(&rules.rate, secret.clone()));
        let rate = (rules.rate.clone(), rate);
        let gone = ChainCounters::none();
        let mut lasting = Lasting { realm, secret, replay, rate, leaving: Vec::new(), gone };
        let set = lasting.set(rules)?;
        Ok(Self { now: ArcSwap::from_pointee(set), lasting: Mutex::new(lasting) })
    }

    /// The guards in force now.
    pub(crate) fn guards(&self) -> Arc<GuardSet> {
        self.now.load_full()
    }

    /// Puts other rules in force. A message that is within the old ones goes on by them.
    pub(crate) fn replace(&self, rules: EdgeRules) -> Result<(), RulesError> {
        let mut lasting = self.lasting.lock();
        let set = Arc::new(lasting.set(rules)?);
        let old = self.now.swap(set);
        lasting.leaving.push(old);
        lasting.fold();
        Ok(())
    }

    /// What every guard has counted since the beginning, in the order of those in force; a guard that
    /// is no longer among them comes last.
    pub(crate) fn counters(&self) -> ChainCounters {
        let mut lasting = self.lasting.lock();
        lasting.fold();
        let mut all = self.now.load().counters();
        for set in &lasting.leaving {
            add(&mut all, &set.counters());
        }
        add(&mut all, &lasting.gone);
        all
    }
}

impl Lasting {
    fn set(&mut self, rules: EdgeRules) -> Result<GuardSet, RulesError> {
        let EdgeRules { leeway, rate, policy, guards, waiting, shadow } = rules;
        if let Some(stage) = shadow.iter().find(|s| matches!(s, Stage::Addressed | Stage::Relay)) {
            return Err(RulesError::NotInShadow(*stage));
        }
        let limiter = match &self.rate {
            (limits, limiter) if *limits == rate => Arc::clone(limiter),
            _ => Arc::new(Rate::new(&rate, self.secret.clone())),
        };
        let standard: [Arc<dyn Guard>; 6] = [
            Arc::new(Addressed::to(self.realm.clone())),
            Arc::new(Expiry::with_leeway(leeway)),
            Arc::new(Relay),
            Arc::clone(&self.replay) as _,
            Arc::clone(&limiter) as _,
            Arc::new(Closed),
        ];
        let policy = policy.map(|policy| Arc::new(PolicyGuard::new(policy)) as Arc<dyn Guard>);
        let mode = |guard: &Arc<dyn Guard>| {
            let shadow = shadow.contains(&guard.stage()) && guard.name() != Closed.name();
            if shadow { Mode::Shadow } else { Mode::Enforce }
        };
        let all = standard.into_iter().chain(policy).map(|guard| (mode(&guard), guard));
        let set = GuardSet::new(all.chain(guards).collect(), waiting)?;
        self.rate = (rate, limiter);
        Ok(set)
    }

    /// Adds up what sets counted that no message is within any more.
    fn fold(&mut self) {
        let Self { leaving, gone, .. } = self;
        leaving.retain(|set| {
            let is_used = Arc::strong_count(set) > 1;
            if !is_used {
                add(gone, &set.counters());
            }
            is_used
        });
    }
}

/// Adds what `more` counted. The figures of a guard are its own and not added.
fn add(all: &mut ChainCounters, more: &ChainCounters) {
    all.checked += more.checked;
    all.undecodable += more.undecodable;
    for counters in &more.guards {
        match all.guards.iter_mut().find(|of| of.guard == counters.guard) {
            Some(of) => {
                of.passed += counters.passed;
                of.refused += counters.refused;
                of.shadow_refused += counters.shadow_refused;
            }
            None => all.guards.push(counters.clone()),
        }
    }
}
