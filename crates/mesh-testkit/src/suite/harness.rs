use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Capability, Connection, TransportError};
use mesh_core::topology::Topology;

/// Why a bed could not be started.
pub type StartError = Box<dyn std::error::Error + Send + Sync>;

/// What an adapter's author writes for the suite: how to get a broker.
#[async_trait]
pub trait Harness: Send + Sync {
    /// What the adapter promises, exactly. A capability that the transport declares and this does
    /// not name, or the other way round, fails the suite.
    fn promised(&self) -> Vec<Capability>;

    /// A fresh broker that holds `topology` when this returns. Nothing of one bed is seen in
    /// another; several may run at a time. A transport without streams ignores `topology`.
    ///
    /// # Errors
    /// Whatever kept it from starting; the case fails with it.
    async fn start(&self, topology: &Topology) -> Result<Arc<dyn Bed>, StartError>;

    /// The span that cases use for `ack_wait`, delays and time-outs. Where time can be moved it
    /// costs nothing; where it can't, choose one that a busy machine keeps and a person waits for.
    fn span(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// How long a case waits for one event before it fails, in real time.
    fn patience(&self) -> Duration {
        Duration::from_secs(10)
    }

    /// How long one case may take, in real time, before it fails as hung.
    fn deadline(&self) -> Duration {
        self.patience() * 6
    }
}

/// One running broker.
#[async_trait]
pub trait Bed: Send + Sync {
    /// Dials as `principal`. Without permissions everything is allowed. The controller's connection
    /// has the administration port, where there is one.
    ///
    /// # Errors
    /// As the transport's; `Unsupported` for permissions where the broker enforces none.
    async fn connect(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, TransportError>;

    /// Returns when the broker's time has grown by `span`: moves its clock, or really waits.
    async fn pass(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }

    /// Stops it.
    async fn stop(&self) {}
}
