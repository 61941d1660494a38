//! The brokers in the process as beds of the suite.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Capability, Connection, DriftMode, ErrorKind, Operation, TransportError};
use mesh_core::topology::Topology;
use mesh_testkit::clock::ManualClock;
use mesh_testkit::fixtures::controller;
use mesh_testkit::suite::{Bed, Harness, Hook, HookError, StartError};
use mesh_transport_mem::{InMemoryDurableBroker, InMemoryExactBroker, InMemoryFilterBroker};

pub struct Exact;
pub struct Filtering;
pub struct Durable;

#[async_trait]
impl Harness for Exact {
    fn promised(&self) -> Vec<Capability> {
        vec![Capability::ReceiverCheck]
    }

    async fn start(&self, _: &Topology) -> Result<Arc<dyn Bed>, StartError> {
        let clock = ManualClock::new();
        let broker = InMemoryExactBroker::new(Arc::new(clock.clone()));
        Ok(Arc::new(Live { clock, connect: Box::new(move |who| broker.connect(who)) }))
    }
}

#[async_trait]
impl Harness for Filtering {
    fn promised(&self) -> Vec<Capability> {
        use Capability::{QueueGroups, ReceiverCheck, Requests, ScopedReplies, Wildcards};
        vec![Wildcards, QueueGroups, ReceiverCheck, Requests, ScopedReplies]
    }

    async fn start(&self, _: &Topology) -> Result<Arc<dyn Bed>, StartError> {
        let clock = ManualClock::new();
        let broker = InMemoryFilterBroker::seeded(Arc::new(clock.clone()), 1);
        Ok(Arc::new(Live { clock, connect: Box::new(move |who| broker.connect(who)) }))
    }
}

#[async_trait]
impl Harness for Durable {
    fn promised(&self) -> Vec<Capability> {
        Capability::ALL.into()
    }

    fn offers(&self, hook: Hook) -> bool {
        hook == Hook::SetPermissions
    }

    async fn start(&self, topology: &Topology) -> Result<Arc<dyn Bed>, StartError> {
        let clock = ManualClock::new();
        let broker = InMemoryDurableBroker::builder(Arc::new(clock.clone())).seed(1).build();
        let admin = broker.connect(controller(), Permissions::everything())?;
        admin.administration()?.assert(topology, DriftMode::Report).await?;
        admin.transport().close(Duration::ZERO).await;
        Ok(Arc::new(Lasting { clock, broker }))
    }
}

/// A broker that enforces nothing.
struct Live {
    clock: ManualClock,
    connect: Box<dyn Fn(Principal) -> Connection + Send + Sync>,
}

#[async_trait]
impl Bed for Live {
    async fn connect(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, TransportError> {
        match permissions {
            None => Ok((self.connect)(principal)),
            Some(_) => Err(TransportError::new(ErrorKind::Unsupported, Operation::Connect)),
        }
    }

    async fn pass(&self, span: Duration) {
        self.clock.advance(span).await;
    }
}

struct Lasting {
    clock: ManualClock,
    broker: InMemoryDurableBroker,
}

#[async_trait]
impl Bed for Lasting {
    async fn connect(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, TransportError> {
        self.broker.connect(principal, permissions.unwrap_or_else(Permissions::everything))
    }

    async fn set_permissions(
        &self,
        principal: &Principal,
        permissions: &Permissions,
    ) -> Result<(), HookError> {
        self.broker.set_permissions(principal, permissions);
        Ok(())
    }

    async fn pass(&self, span: Duration) {
        self.clock.advance(span).await;
    }
}
