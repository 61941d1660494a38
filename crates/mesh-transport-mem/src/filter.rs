use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::port::{Capabilities, Capability, Clock, Connection, Limits};

use crate::access::Access;
use crate::broker::{Broker, Settings};
use crate::link::Who;
use crate::port::Port;
use crate::statistics::Statistics;

/// Live messages on filters with `*` and `>`, queue groups, and requests. Nothing is kept, and
/// nobody's permissions are checked.
///
/// Cheap to clone; every clone is the same broker.
#[derive(Debug, Clone)]
pub struct InMemoryFilterBroker(pub(crate) Arc<Broker>);

impl InMemoryFilterBroker {
    /// A broker that goes by `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::make(clock, None)
    }

    /// The same with reply addresses that follow from `seed`, so that a run can be repeated.
    #[must_use]
    pub fn seeded(clock: Arc<dyn Clock>, seed: u64) -> Self {
        Self::make(clock, Some(seed))
    }

    fn make(clock: Arc<dyn Clock>, seed: Option<u64>) -> Self {
        let capabilities = [
            Capability::Wildcards,
            Capability::QueueGroups,
            Capability::ReceiverCheck,
            Capability::Requests,
            Capability::ScopedReplies,
        ];
        Self(Broker::new(Settings {
            capabilities: Capabilities::new(Limits::default(), capabilities),
            clock,
            epoch: None,
            seed,
        }))
    }

    /// A connection of `principal`, which may do anything.
    #[must_use]
    pub fn connect(&self, principal: Principal) -> Connection {
        Port::connection(self.0.connect(Who::anywhere(principal), Access::everything()))
    }

    /// What it holds now.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.0.statistics()
    }
}
