//! One dependency: `mesh-sdk` with the feature of each broker that is wanted, and a file that says who one is
//! and which broker it is. The same program on NATS or RabbitMQ differs in that file alone.
//!
//! Run it with `cargo run -p mesh-examples --example one_dependency`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::Path;

use mesh_sdk::core::manifest::{Mesh, ModuleManifest};
use mesh_sdk::core::tool::ToolFailure;
use mesh_sdk::memory::InMemoryMesh;
use mesh_sdk::{Asking, Broker, Tools, connect};

type Failure = Box<dyn std::error::Error>;

const CLOCK: &str = "
name = 'clock'
version = '1.0.0'
tools = [{ name = 'now', description = 'What time it is.' }]";

const DESK: &str = "
name = 'desk'
version = '1.0.0'
calls = ['clock.now']";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    // Whoever runs the mesh: here it is in this process, under a name.
    let files = [ModuleManifest::parse("clock", CLOCK)?, ModuleManifest::parse("desk", DESK)?];
    let mesh = InMemoryMesh::raise(Mesh::on_one_node(&"n1".parse()?, files)?).await?;
    let _listening = mesh.listen(Some("shop".parse()?))?;
    let folder = tempfile::tempdir()?;
    for module in ["clock", "desk"] {
        let pin = "0".repeat(64); // nobody presents a certificate within a process
        let document = format!(
            r#"{{"url": "mem:shop", "fingerprint": "{pin}", "node": "n1", "module": "{module}"}}"#
        );
        std::fs::write(folder.path().join(module), document)?;
    }

    // The modules. A program of its own says `connect(credential_path()?)`: MESH_CREDENTIAL names the file.
    let clock = clock(&folder.path().join("clock")).await?;
    let desk = desk(&folder.path().join("desk")).await?;
    let time: String = desk.request(("clock", "now"), &()).await?;
    println!("{} says that it is {time}", clock.principal());
    Ok(())
}

/// Has tools and no events: `publish` and `subscribe` would not compile.
async fn clock(credential: &Path) -> Result<Broker<Tools>, Failure> {
    let clock = Broker::builder(connect(credential).await?).build_only::<Tools>()?;
    clock.handle("now", |_| async { Ok::<_, ToolFailure>("noon") }).await?;
    Ok(clock)
}

/// Only asks.
async fn desk(credential: &Path) -> Result<Broker<Asking>, Failure> {
    Ok(Broker::builder(connect(credential).await?).build_only()?)
}
