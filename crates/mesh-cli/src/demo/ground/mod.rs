//! What a mesh is raised on: a broker that holds its topology, and connections to it with the rights
//! that follow from the files.

mod credentials;
mod memory;
mod nats;
#[cfg(unix)]
mod private;

use std::path::PathBuf;

use async_trait::async_trait;
use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::port::Connection;

use super::{DemoError, FlowName};

pub(crate) use credentials::Mistakes;

/// The broker that a person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this process.
    Memory,
    /// A nats-server that is started for the demo.
    Nats,
    /// The nats-server that the credentials in this folder lead to.
    NatsOf(PathBuf),
}

/// See the module.
#[async_trait]
pub(crate) trait Ground: Send + Sync {
    /// Where it is, for a sentence: `on memory`.
    fn place(&self) -> String;

    /// What else a reader has to know of it.
    fn about(&self) -> Option<&'static str>;

    /// The controller's connection, with the port of administration.
    fn controller(&self) -> &Connection;

    /// A connection of one of the mesh. Where the flow `refused` is to be broken it has rights too
    /// many, if the ground [can give them](Self::widens).
    async fn connect(&self, principal: &Principal) -> Result<Connection, DemoError>;

    /// Whether rights are this program's to give.
    fn widens(&self) -> bool;

    /// Whether a tool is told who calls it, because the broker proves it.
    fn proves_callers(&self) -> bool;

    /// A backbone between realms: the connections of this mesh's gateway and of the peer's.
    async fn backbone(&self) -> Result<(Connection, Connection), DemoError>;

    /// Ends what was begun here, once the controller's connection is closed, and says what is left, if anything is.
    async fn end(self: Box<Self>) -> Option<String>;
}

/// Lays the ground that is asked for: the broker runs and holds the mesh's topology.
pub(crate) async fn lay(
    place: &Place,
    mesh: &Mesh,
    broken: Option<FlowName>,
) -> Result<Box<dyn Ground>, DemoError> {
    Ok(match place {
        Place::Memory => Box::new(memory::Memory::raise(mesh, broken).await?),
        #[cfg(unix)]
        Place::Nats => Box::new(private::start(mesh, broken).await?),
        #[cfg(not(unix))]
        Place::Nats => {
            return Err(DemoError::NoServer("a nats-server is started on Unix only".to_owned()));
        }
        Place::NatsOf(folder) => Box::new(nats::Nats::given(folder, mesh).await?),
    })
}
