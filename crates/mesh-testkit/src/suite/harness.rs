use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Capability, Connection, TransportError};
use mesh_core::topology::Topology;

/// Why a bed could not be started.
pub type StartError = Box<dyn std::error::Error + Send + Sync>;

/// Why a hook did not do what it was asked for.
pub type HookError = Box<dyn std::error::Error + Send + Sync>;

/// Something that some cases need done to a running broker, and that not every harness can do. A case
/// whose hook is not offered is shown as skipped, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hook {
    /// [`Bed::set_permissions`].
    SetPermissions,
    /// [`StateBed::open_small`](crate::state::StateBed::open_small).
    SmallBucket,
    /// [`StateBed::backlog`](crate::state::StateBed::backlog).
    Backlog,
    /// [`StateBed::take_away`](crate::state::StateBed::take_away).
    TakeAway,
}

/// What such a case is skipped for.
impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SetPermissions => "the harness can't change permissions",
            Self::SmallBucket => "the harness can't bound a bucket",
            Self::Backlog => "the harness can't say how far behind a watcher may be",
            Self::TakeAway => "the harness can't take the store away",
        })
    }
}

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

    /// Whether its beds have this hook. None unless told.
    fn offers(&self, _hook: Hook) -> bool {
        false
    }

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

    /// Replaces the permissions of `principal`, whose connections stay: from when this returns, the
    /// new ones hold for them. Only where the harness [offers](Harness::offers) it.
    ///
    /// # Errors
    /// Whatever kept them from being replaced; the case fails with it.
    async fn set_permissions(
        &self,
        _principal: &Principal,
        _permissions: &Permissions,
    ) -> Result<(), HookError> {
        Err(Hook::SetPermissions.to_string().into())
    }

    /// Stops it.
    async fn stop(&self) {}
}
