//! `mesh bus run`.

use std::path::PathBuf;

use clap::Args;

use crate::shell::{Exit, Failure, Shell};

/// Run a nats-server from a bus's folder, and reload it whenever its composed file changes.
#[derive(Debug, Args)]
pub(super) struct Run {
    /// The bus's folder: `nats-server.conf` is composed into it.
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// The nats-server to start, instead of the one that is found.
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
}

pub(super) fn run(asked: &Run, _: &mut Shell) -> Result<Exit, Failure> {
    let Run { dir, server } = asked;
    let what = format!("no server can be run from {dir:?} yet (asked for {server:?})");
    Err(Failure::new(what, "wait for the supervisor: this is its place"))
}
