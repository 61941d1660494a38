use std::sync::Arc;

use mesh_core::guard::{ChainCounters, Decision, Guard, GuardChain, Mode, Now};
use mesh_core::mx::DecodeError;

use super::super::RulesError;
use super::AsyncGuard;
use super::outside::Outside;

/// All guards in their order: chains of those that don't wait, and between two chains one that does.
#[derive(Debug)]
pub(crate) struct GuardSet {
    parts: Box<[Part]>,
}

/// A chain, and the guard after it that has to wait. The last part has none.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) chain: GuardChain,
    pub(crate) then: Option<Outside>,
}

impl GuardSet {
    pub(crate) fn new(
        mut guards: Vec<(Mode, Arc<dyn Guard>)>,
        mut waiting: Vec<(Mode, Arc<dyn AsyncGuard>)>,
    ) -> Result<Self, RulesError> {
        let names = guards.iter().map(|(_, guard)| guard.name());
        let mut names: Vec<_> =
            names.chain(waiting.iter().map(|(_, guard)| guard.name())).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(RulesError::Twice(pair[0]));
        }
        guards.sort_by_key(|(_, guard)| guard.stage());
        waiting.sort_by_key(|(_, guard)| guard.stage());
        let mut guards = guards.into_iter().peekable();
        let mut parts = Vec::with_capacity(waiting.len() + 1);
        for (mode, waits) in waiting {
            let mut chain = GuardChain::builder();
            while let Some((mode, guard)) =
                guards.next_if(|(_, guard)| guard.stage() <= waits.stage())
            {
                chain = chain.guard(mode, guard);
            }
            parts.push(Part { chain: chain.build(), then: Some(Outside::new(mode, waits)) });
        }
        let rest = GuardChain::builder();
        let rest = guards.fold(rest, |chain, (mode, guard)| chain.guard(mode, guard));
        parts.push(Part { chain: rest.build(), then: None });
        Ok(Self { parts: parts.into() })
    }

    pub(crate) fn part(&self, number: usize) -> Option<&Part> {
        self.parts.get(number)
    }

    pub(crate) fn undecodable(&self, error: &DecodeError) -> Decision {
        self.parts[0].chain.undecodable(error)
    }

    pub(crate) fn reclaim(&self, now: Now) -> usize {
        let one = |part: &Part| {
            let waits = part.then.as_ref().map_or(0, |outside| outside.guard.reclaim(now));
            part.chain.reclaim(now) + waits
        };
        self.parts.iter().map(one).sum()
    }

    pub(crate) fn counters(&self) -> ChainCounters {
        let mut all = ChainCounters::none();
        for (number, part) in self.parts.iter().enumerate() {
            let chain = part.chain.counters();
            if number == 0 {
                (all.checked, all.undecodable) = (chain.checked, chain.undecodable);
            }
            all.guards.extend(chain.guards);
            all.guards.extend(part.then.as_ref().map(Outside::counters));
        }
        all
    }
}
