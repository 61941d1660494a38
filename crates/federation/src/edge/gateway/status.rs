use mesh_core::guard::ChainCounters;
use mesh_core::name::RealmName;

use super::super::EdgeCounters;
use super::ear::EarStatus;
use super::shared::Shared;
use super::{EdgeGateway, On};
use crate::AnswerCounts;

/// How a gateway is, and what it has counted since it began.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EdgeStatus {
    /// Its realm.
    pub realm: RealmName,
    /// Each subscription: mailboxes first, then what it listens to on the realm's own bus.
    pub ears: Vec<EarStatus>,
    /// Each guard.
    pub guards: ChainCounters,
    /// All else.
    pub counters: EdgeCounters,
    /// Requests that wait for a component's reply.
    pub pending: usize,
    /// Those, and those whose answer is being sent: what is held against the limits.
    pub under_way: usize,
    /// Of how many realms.
    pub realms: usize,
    /// Messages that wait for a guard.
    pub waiting: usize,
    /// This realm's own questions, where it asks any.
    pub answers: Option<AnswerCounts>,
}

impl EdgeStatus {
    /// Whether it hears all that it should.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.ears.iter().all(|ear| ear.listening)
    }

    /// Messages that came to one of its mailboxes and were lost there.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let mailboxes = self.ears.iter().filter(|ear| ear.on == On::Backbone);
        mailboxes.map(|ear| ear.lost).sum()
    }
}

impl EdgeGateway {
    /// How it is now.
    #[must_use]
    pub fn status(&self) -> EdgeStatus {
        self.shared.status()
    }
}

impl Shared {
    pub(super) fn status(&self) -> EdgeStatus {
        let edge = &self.edge;
        let (under_way, realms) = edge.under_way();
        EdgeStatus {
            realm: edge.realm().clone(),
            ears: self.ears.iter().map(|ear| ear.status()).collect(),
            guards: edge.guards(),
            counters: edge.counters(),
            pending: edge.pending(),
            under_way,
            realms,
            waiting: edge.waiting(),
            answers: self.options.answers.as_ref().map(crate::Answers::counts),
        }
    }
}
