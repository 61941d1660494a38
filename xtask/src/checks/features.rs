//! The features of `mesh-sdk`, `mesh-federation` and `mesh-control` are additive: with none and with each alone it builds, and no
//! warning is left. With all of them it is built whenever the workspace is, for its tests ask for them.

use crate::run::{Failure, Workspace};

/// What is given to `--features` for which package. Each feature adds one thing and knows of no other, so that
/// pairs would show nothing new.
const SETS: &[(&str, &[&str])] = &[
    ("mesh-sdk", &["", "memory", "nats", "amqp", "store"]),
    ("mesh-federation", &["", "discovery", "security"]),
    ("mesh-control", &["", "folder", "secrets", "genesis", "supervisor"]),
];

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<(), Failure> {
    for (package, sets) in SETS {
        for set in *sets {
            let arguments = ["clippy", "--package", package, "--locked", "--no-default-features"];
            let denied = ["--features", *set, "--", "-D", "warnings"];
            workspace.cargo(&[&arguments[..], &denied].concat())?;
        }
    }
    Ok(())
}
