use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::port::{Capabilities, Capability, Clock, Connection, Limits};

use crate::access::Access;
use crate::broker::{Broker, Settings};
use crate::link::Who;
use crate::port::Port;
use crate::statistics::Statistics;

/// The least that a transport can be: live messages on exact subjects. A filter with a wildcard is
/// refused as `Unsupported`; so are queue groups, and there is no port but
/// [`Transport`](mesh_core::port::Transport).
///
/// Cheap to clone; every clone is the same broker.
#[derive(Debug, Clone)]
pub struct InMemoryExactBroker(Arc<Broker>);

impl InMemoryExactBroker {
    /// A broker that goes by `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self(Broker::new(Settings {
            capabilities: Capabilities::new(Limits::default(), [Capability::ReceiverCheck]),
            clock,
            epoch: None,
            seed: None,
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
