use std::sync::Arc;

use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::name::{InstanceName, ModuleName, NodeName};
use mesh_core::permissions::Permissions;
use mesh_core::port::{Connection, DriftMode, ErrorKind, Operation, TransportError};
use mesh_core::subject::SubjectError;

use crate::InMemoryDurableBroker;

/// A whole mesh in the process, raised from its files: a durable broker that holds the mesh's
/// streams and consumers, and lets each account do what the files say and nothing else. What fails
/// here for want of a right would fail in production.
///
/// ```
/// use mesh_core::manifest::{Mesh, ModuleManifest};
/// use mesh_core::message::Message;
/// use mesh_core::subject::Subject;
/// use mesh_transport_mem::InMemoryMesh;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mail = "name = 'mail'\nversion = '1'\nemits = ['sent']";
/// let node = "n1".parse()?;
/// let files = Mesh::on_one_node(&node, [ModuleManifest::parse("mail.toml", mail)?])?;
/// let mesh = InMemoryMesh::raise(files).await?;
///
/// let mail = mesh.module(&node, &"mail".parse()?)?;
/// let streams = mail.streams()?;
/// let event = |subject: &str| Subject::new(subject).map(|subject| Message::new(subject, "{}"));
/// assert!(streams.append(event("mesh.events.mail.sent")?, Default::default()).await.is_ok());
/// assert!(streams.append(event("mesh.events.mail.lost")?, Default::default()).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct InMemoryMesh {
    mesh: Arc<Mesh>,
    broker: InMemoryDurableBroker,
    controller: Connection,
}

impl InMemoryMesh {
    /// Raises `mesh` on a broker of its own that goes by the machine's clock.
    ///
    /// # Errors
    /// `Broker` outside a tokio runtime; `Invalid` where the files' names are too long together.
    pub async fn raise(mesh: Mesh) -> Result<Self, TransportError> {
        let clock = Arc::new(SystemClock::new());
        Self::raise_on(InMemoryDurableBroker::new(clock), mesh).await
    }

    /// Raises `mesh` on `broker`, which may go by a clock of a test's.
    ///
    /// # Errors
    /// As [`raise`](Self::raise).
    pub async fn raise_on(
        broker: InMemoryDurableBroker,
        mesh: Mesh,
    ) -> Result<Self, TransportError> {
        let topology = mesh.topology().map_err(|error| invalid(Operation::Assert, error))?;
        let name = InstanceName::new("memory").map_err(|error| {
            TransportError::new(ErrorKind::Invalid, Operation::Connect).caused_by(error)
        })?;
        let controller =
            broker.connect(Principal::Controller { name }, Permissions::of_controller())?;
        controller.administration()?.assert(&topology, DriftMode::Report).await?;
        Ok(Self { mesh: Arc::new(mesh), broker, controller })
    }

    /// The files that it was raised from.
    #[must_use]
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The broker.
    #[must_use]
    pub fn broker(&self) -> &InMemoryDurableBroker {
        &self.broker
    }

    /// The controller's connection, with the port of administration, by which a test reads what the
    /// streams keep: dead letters too (see the crate's documentation).
    #[must_use]
    pub fn controller(&self) -> &Connection {
        &self.controller
    }

    /// A connection of `principal` with the rights that follow from the files: none, where they
    /// don't know it.
    ///
    /// # Errors
    /// As [`raise`](Self::raise).
    pub fn connect(&self, principal: Principal) -> Result<Connection, TransportError> {
        let permissions = self
            .mesh
            .permissions(&principal)
            .map_err(|error| invalid(Operation::Connect, error))?;
        self.broker.connect(principal, permissions)
    }

    /// A connection of `module` on `node`.
    ///
    /// # Errors
    /// As [`raise`](Self::raise).
    pub fn module(
        &self,
        node: &NodeName,
        module: &ModuleName,
    ) -> Result<Connection, TransportError> {
        self.connect(Principal::Module { node: node.clone(), module: module.clone() })
    }
}

fn invalid(operation: Operation, error: SubjectError) -> TransportError {
    TransportError::new(ErrorKind::Invalid, operation).detail(error.to_string()).caused_by(error)
}
