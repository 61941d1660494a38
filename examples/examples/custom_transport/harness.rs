//! What the suite needs: how to get a broker, and what its adapter promises.

use std::sync::Arc;

use async_trait::async_trait;
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Capability, Connection, ErrorKind, Operation, TransportError};
use mesh_core::topology::Topology;
use mesh_testkit::suite::{Bed, Harness, StartError};

use super::broker::TinyBroker;
use super::transport::connect;

pub(crate) struct Tiny;

#[async_trait]
impl Harness for Tiny {
    fn promised(&self) -> Vec<Capability> {
        Vec::new()
    }

    async fn start(&self, _: &Topology) -> Result<Arc<dyn Bed>, StartError> {
        Ok(Arc::new(TinyBed(TinyBroker::start().await?)))
    }
}

struct TinyBed(TinyBroker);

#[async_trait]
impl Bed for TinyBed {
    async fn connect(
        &self,
        principal: Principal,
        permissions: Option<Permissions>,
    ) -> Result<Connection, TransportError> {
        match permissions {
            None => connect(self.0.address(), principal).await,
            Some(_) => Err(TransportError::new(ErrorKind::Unsupported, Operation::Connect)),
        }
    }
}
