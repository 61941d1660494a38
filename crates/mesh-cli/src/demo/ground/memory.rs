use std::sync::Arc;

use async_trait::async_trait;
use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::name::InstanceName;
use mesh_core::permissions::Permissions;
use mesh_core::port::Connection;
use mesh_transport_mem::{InMemoryExactBroker, InMemoryMesh};

use super::Ground;
use crate::demo::federation::GATEWAYS;
use crate::demo::{DemoError, FlowName};

/// A broker in this process.
pub(super) struct Memory {
    mesh: InMemoryMesh,
    broken: Option<FlowName>,
}

impl Memory {
    pub(super) async fn raise(mesh: &Mesh, broken: Option<FlowName>) -> Result<Self, DemoError> {
        Ok(Self { mesh: InMemoryMesh::raise(mesh.clone()).await?, broken })
    }
}

#[async_trait]
impl Ground for Memory {
    fn place(&self) -> String {
        "on memory".to_owned()
    }

    fn about(&self) -> Option<&'static str> {
        None
    }

    fn controller(&self) -> &Connection {
        self.mesh.controller()
    }

    async fn beside_modules(&self) -> Result<Connection, DemoError> {
        Ok(self.mesh.controller().clone())
    }

    async fn connect(&self, principal: &Principal) -> Result<Connection, DemoError> {
        let connection = self.mesh.connect(principal.clone())?;
        if self.broken == Some(FlowName::Refused) {
            self.mesh.broker().set_permissions(principal, &Permissions::everything());
        }
        Ok(connection)
    }

    fn widens(&self) -> bool {
        true
    }

    fn proves_callers(&self) -> bool {
        true
    }

    async fn backbone(&self) -> Result<(Connection, Connection), DemoError> {
        backbone_in_process()
    }

    async fn end(self: Box<Self>) -> Option<String> {
        None
    }
}

/// A backbone that nobody else can reach, and that asks for no rights.
pub(super) fn backbone_in_process() -> Result<(Connection, Connection), DemoError> {
    let backbone = InMemoryExactBroker::new(Arc::new(SystemClock::new()));
    let [ours, theirs] = GATEWAYS.map(|name| {
        let name = InstanceName::new(name)?;
        Ok::<_, DemoError>(backbone.connect(Principal::Gateway { name }))
    });
    Ok((ours?, theirs?))
}
