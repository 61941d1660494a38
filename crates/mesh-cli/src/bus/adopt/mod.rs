//! `mesh bus adopt`.

mod ground;
mod prepare;
mod take;
mod told;
mod verify;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::runtime;
use crate::shell::{Exit, Failure, Shell};

const AFTER_HELP: &str = "\
A server of the mesh's own, beside the broker that carries it:
  mesh bus adopt --prepare --mesh mesh.toml --dir bus
  mesh bus run --dir bus
  mesh bus genesis …
  mesh bus adopt --mesh mesh.toml --dir bus --credential controller.json

A server that holds other people's data, seen on 127.0.0.1:8222; DIR is the folder of its owner's file:
  mesh bus adopt --prepare --mesh mesh.toml --dir DIR --into 127.0.0.1:8222 --store secrets
  (the owner adds the line that this tells, and has the server read its file again)
  mesh bus adopt --mesh mesh.toml --dir DIR --into 127.0.0.1:8222 --credential controller.json

Exit codes:
  0  it is done, or it holds
  1  it can't be done, or it doesn't hold; each reason is told with what to do
  2  it could not be looked at: a server that can't be seen is not adopted";

/// Put the mesh's bus into its seat, while the mesh goes on elsewhere.
///
/// The seat `mesh-broker` is taken once in a mesh, and kept on the server. Nothing may be routed to the bus yet: its
/// accounts have no client but the controller's, and its streams were never given anything.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Adopt {
    /// Only say what is in the way; and with --into write the accounts that the server's owner includes.
    #[arg(long, conflicts_with = "verify")]
    prepare: bool,
    /// Only say whether the seat is taken and nothing is routed to the bus.
    #[arg(long)]
    verify: bool,
    /// The mesh file; its manifests are found relative to it. One of its modules claims the seat.
    #[arg(long, value_name = "FILE")]
    mesh: PathBuf,
    /// The bus's folder; with --into the folder of the owner's file, of which nothing is changed.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Where a nats-server that is somebody else's tells of itself: its monitoring port.
    #[arg(long, value_name = "ADDRESS")]
    into: Option<SocketAddr>,
    /// The store of what proves the secrets; needed to write accounts, and where the controller has an nkey.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// The controller's credential, which takes the seat.
    #[arg(long, value_name = "FILE")]
    credential: Option<PathBuf>,
    /// What `nats-server -t` says of the owner's file: sha256:…. The server must run with it.
    #[arg(long, value_name = "SHA256", requires = "into")]
    digest: Option<String>,
}

pub(super) fn run(asked: &Adopt, shell: &mut Shell) -> Result<Exit, Failure> {
    let ground = ground::Ground::of(asked)?;
    let runtime = runtime::new()?;
    let told = match (asked.prepare, asked.verify) {
        (true, _) => runtime.block_on(prepare::run(asked, &ground))?,
        (_, true) => runtime.block_on(verify::run(asked, &ground))?,
        _ => runtime.block_on(take::run(asked, &ground))?,
    };
    shell.answer(&told)?;
    Ok(if told.good { Exit::Good } else { Exit::Fault })
}
