//! A realm: its gateway, what the gateway remembers, and its router.

use std::collections::BTreeMap;
use std::sync::Arc;

use mesh_core::guard::Quota;
use mesh_core::name::RealmName;
use mesh_federation::edge::{Edge, EdgeConfig};
use mesh_federation::lease::{Lease, LeaseId, LeaseLimits, LeaseTable};
use mesh_federation::router::Routes;
use mesh_federation::{AnswerLimits, Answers, Seeded, Waiting};

use crate::plan::Plan;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) realm: RealmName,
    pub(crate) routes: Routes,
    /// Whether its leases outlive a crash.
    pub(crate) durable: bool,
    pub(crate) store: BTreeMap<LeaseId, Lease>,
    /// How often it has come up.
    pub(crate) life: u32,
    /// When it came up last, in milliseconds.
    pub(crate) since: u64,
    /// When its gateway is woken next.
    pub(crate) alarm: Option<u64>,
    /// Whether its feed speaks: while there are leases, and once after that.
    pub(crate) feeding: bool,
    pub(crate) up: Option<Up>,
}

/// What a crash takes away.
#[derive(Debug)]
pub(crate) struct Up {
    pub(crate) edge: Edge,
    pub(crate) answers: Answers,
    pub(crate) questions: BTreeMap<u64, Waiting>,
    pub(crate) leases: LeaseTable,
}

impl Node {
    pub(crate) fn new(routes: Routes, durable: bool) -> Self {
        let realm = routes.realm().clone();
        Self {
            realm,
            routes,
            durable,
            store: BTreeMap::new(),
            life: 0,
            since: 0,
            alarm: None,
            feeding: false,
            up: None,
        }
    }

    /// Comes up, with what is in its store.
    pub(crate) fn start(&mut self, plan: &Plan, seed: u64, now: u64) {
        self.since = now;
        let mut config = EdgeConfig::new(self.realm.clone());
        if plan.strict {
            config.rules.rate.per_realm = Quota::new(2, 1).expect("a quota");
            config.limits.pending_per_realm = 2;
        }
        self.life += 1;
        let seeded = Seeded::new(seed.wrapping_mul(1_000_003).wrapping_add(u64::from(self.life)));
        let mut leases = LeaseTable::new(LeaseLimits::default(), self.realm.as_str());
        for lease in self.store.values() {
            leases.apply(lease).expect("what was there before");
        }
        self.up = Some(Up {
            edge: Edge::new(config, Arc::new(seeded)).expect("an edge"),
            answers: Answers::new(AnswerLimits::default()),
            questions: BTreeMap::new(),
            leases,
        });
    }

    /// When its gateway wants to be woken: for requests, and for leases.
    pub(crate) fn due(&self, now: u64) -> Option<u64> {
        let up = self.up.as_ref()?;
        let due = [up.edge.next_deadline(), up.leases.next_end()].into_iter().flatten().min()?;
        let millis = u64::try_from(due.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
        Some(millis.max(now))
    }
}
