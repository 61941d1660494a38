//! What a mesh is raised on: a broker that holds its topology, and connections to it with the rights
//! that follow from the files.

mod credentials;
mod memory;
#[cfg(unix)]
mod private;
mod server;
mod way;

use std::path::PathBuf;

use async_trait::async_trait;
use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::port::Connection;

use super::{DemoError, FlowName};

pub(crate) use credentials::Mistakes;
pub(crate) use way::{Kind, WayError};

/// The broker that a person asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this process.
    Memory,
    /// A broker that is started for the demo.
    Own(Kind),
    /// The broker that the credentials in this folder lead to.
    Of(Kind, PathBuf),
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

    /// A connection of the controller's beside the modules, by which it calls them.
    async fn beside_modules(&self) -> Result<Connection, DemoError>;

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
        Place::Own(kind) => Box::new(private::start(*kind, mesh, broken).await?),
        #[cfg(not(unix))]
        Place::Own(_) => {
            return Err(DemoError::NoServer("a broker is started on Unix only".to_owned()));
        }
        Place::Of(kind, folder) => Box::new(server::Server::given(*kind, folder, mesh).await?),
    })
}
