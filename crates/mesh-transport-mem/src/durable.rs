use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::port::{
    Capabilities, Capability, Clock, Connection, ErrorKind, Limits, Operation, TransportError,
};
use mesh_core::time::Timestamp;
use mesh_core::topology::Account;
use tokio::runtime::Handle;

use crate::access::{Access, Remedy};
use crate::broker::{Broker, Settings};
use crate::link::Who;
use crate::port::Port;
use crate::statistics::Statistics;

/// Everything that the ports speak of: streams and durable consumers, requests, dead letters, and
/// the permissions that a server enforces (protocol §2–4).
///
/// Cheap to clone; every clone is the same broker. It lives as long as a clone or a connection.
#[derive(Debug, Clone)]
pub struct InMemoryDurableBroker(Arc<Broker>);

/// How an [`InMemoryDurableBroker`] is made.
#[derive(Debug)]
pub struct InMemoryDurableBrokerBuilder {
    clock: Arc<dyn Clock>,
    limits: Limits,
    epoch: Option<Timestamp>,
    seed: Option<u64>,
}

impl InMemoryDurableBroker {
    /// A broker that goes by `clock`, with everything else as usual.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::builder(clock).build()
    }

    /// A broker that goes by `clock`.
    #[must_use]
    pub fn builder(clock: Arc<dyn Clock>) -> InMemoryDurableBrokerBuilder {
        InMemoryDurableBrokerBuilder { clock, limits: Limits::default(), epoch: None, seed: None }
    }

    /// A connection of `principal`, which may do what `permissions` say. A controller's has the
    /// port of administration.
    ///
    /// # Errors
    /// `Broker` outside a tokio runtime, on which the broker waits for what is due.
    pub fn connect(
        &self,
        principal: Principal,
        permissions: Permissions,
    ) -> Result<Connection, TransportError> {
        self.admit(Who::anywhere(principal), permissions, None)
    }

    /// The same in one of the accounts of a split mesh (protocol §4): what it publishes, and what is
    /// published, passes into the other account as a server's exports and imports let it, and no
    /// further. The streams are in BUS.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_in(
        &self,
        account: Account,
        principal: Principal,
        permissions: Permissions,
    ) -> Result<Connection, TransportError> {
        self.admit(Who { account, ..Who::anywhere(principal) }, permissions, None)
    }

    pub(crate) fn admit(
        &self,
        who: Who,
        permissions: Permissions,
        remedy: Option<Remedy>,
    ) -> Result<Connection, TransportError> {
        let runtime = Handle::try_current().map_err(|error| {
            TransportError::new(ErrorKind::Broker, Operation::Connect)
                .detail("not in a tokio runtime")
                .caused_by(error)
        })?;
        self.0.timer.wait_on(&runtime, &Arc::downgrade(&self.0));
        let access = Access::of(permissions, Arc::clone(&self.0.clock), remedy);
        let link = self.0.connect(who, access);
        Ok(Port::connection(link))
    }

    pub(crate) fn broker(&self) -> &Broker {
        &self.0
    }

    /// Replaces the permissions of `principal` on the connections it has, at once: what it listens
    /// to and may no longer hear ends with `Denied`. The answer is how many connections that were.
    ///
    /// Where answers go by `responses`, nobody owes one any more: a server does that by a reload, and
    /// every reload of a server forgets what everybody was asked (protocol §4).
    pub fn set_permissions(&self, principal: &Principal, permissions: &Permissions) -> usize {
        self.0.set_permissions(|link| (*link.principal == *principal).then(|| permissions.clone()))
    }

    /// Drops the connections of `principal`, as a server does whose user was removed; the answer is
    /// how many. Their subscriptions end with `Disconnected`, and what they held is given back.
    pub fn sever(&self, principal: &Principal) -> usize {
        self.0.sever(|link| *link.principal == *principal)
    }

    /// What dead letters' ids begin with (protocol §2).
    #[must_use]
    pub fn epoch(&self) -> Timestamp {
        self.0.epoch
    }

    /// What it holds now.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.0.statistics()
    }
}

impl InMemoryDurableBrokerBuilder {
    /// The sizes that it refuses to exceed.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The epoch. The clock's time unless told.
    #[must_use]
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Has reply addresses follow from `seed`, so that a run can be repeated. Unless told they are
    /// unguessable.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The broker.
    #[must_use]
    pub fn build(self) -> InMemoryDurableBroker {
        InMemoryDurableBroker(Broker::new(Settings {
            capabilities: Capabilities::new(self.limits, Capability::ALL),
            clock: self.clock,
            epoch: self.epoch,
            seed: self.seed,
        }))
    }
}
