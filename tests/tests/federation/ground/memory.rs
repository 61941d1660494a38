//! A backbone in the process that has exact subjects and no others, and buses with wildcards.

use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::port::{Clock, Connection};
use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};

use super::Held;

pub(super) struct Memory(InMemoryExactBroker);

impl Memory {
    pub(super) fn raise(clock: &Arc<dyn Clock>) -> Self {
        Self(InMemoryExactBroker::new(Arc::clone(clock)))
    }

    pub(super) fn dial(&self, who: Principal) -> Connection {
        self.0.connect(who)
    }

    pub(super) fn held(&self) -> Held {
        Held { subscriptions: self.0.statistics().subscriptions, filters: None }
    }
}

/// The bus of one realm.
pub(super) struct Inside(InMemoryFilterBroker);

impl Inside {
    pub(super) fn raise(clock: &Arc<dyn Clock>) -> Self {
        Self(InMemoryFilterBroker::new(Arc::clone(clock)))
    }

    pub(super) fn dial(&self, who: Principal) -> Connection {
        self.0.connect(who)
    }
}
