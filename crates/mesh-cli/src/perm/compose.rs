//! `mesh perm compose`.
use clap::Args;
use crate::shell::{Exit, Failure, Shell};
/// x
#[derive(Debug, Args)]
pub(super) struct Compose {}
pub(super) fn run(_: &Compose, _: &mut Shell) -> Result<Exit, Failure> { Ok(Exit::Good) }
