//! What carries the events: a broker of its own, laid out for two modules.

use std::path::Path;

use async_trait::async_trait;
use mesh_core::manifest::{Mesh, ModuleManifest};
use mesh_core::port::Connection;
use mesh_core::topology::{ConsumerRef, StreamName};

const MAIL: &str = "name = 'mail'\nversion = '1'\nemits = ['sent']";
const AUDIT: &str = "name = 'audit'\nversion = '1'\nconsumes = ['mail.*']";

pub(crate) fn mail() -> ModuleManifest {
    ModuleManifest::parse("mail.toml", MAIL).unwrap()
}

pub(crate) fn audit() -> ModuleManifest {
    ModuleManifest::parse("audit.toml", AUDIT).unwrap()
}

pub(crate) fn mesh() -> Mesh {
    Mesh::on_one_node(&"n1".parse().unwrap(), [mail(), audit()]).unwrap()
}

/// The consumer of `audit`.
pub(crate) fn consumer() -> ConsumerRef {
    ConsumerRef::new(StreamName::Events, "n1_audit".parse().unwrap())
}

#[async_trait]
pub(crate) trait Ground: Send + Sync + Sized + 'static {
    /// What the child is told.
    const NAME: &'static str;

    /// Starts one; the credentials of both modules are put into the folder.
    async fn raise(folder: &Path) -> Self;

    /// The controller's connection.
    fn controller(&self) -> &Connection;

    /// A connection with that credential.
    async fn dial(credential: &Path) -> Connection;
}

/// How many events the consumer has yet to settle.
pub(crate) async fn owed(ground: &impl Ground) -> u64 {
    let administration = ground.controller().administration().unwrap();
    administration.inspect_consumer(&consumer()).await.unwrap().unwrap().owed()
}
