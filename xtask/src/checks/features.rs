//! The features of `mesh-sdk` are additive: with none and with each alone it builds, and no warning is left.
//! With all of them it is built whenever the workspace is, for its tests ask for them.

use crate::run::{Failure, Workspace};

/// What is given to `--features`. Each feature adds one adapter and knows of no other, so that pairs would
/// show nothing new.
const SETS: &[&str] = &["", "memory", "nats", "amqp", "store"];

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    for set in SETS {
        let arguments = ["clippy", "--package", "mesh-sdk", "--locked", "--no-default-features"];
        let denied = ["--features", *set, "--", "-D", "warnings"];
        workspace.cargo(&[&arguments[..], &denied].concat())?;
    }
    Ok(())
}
