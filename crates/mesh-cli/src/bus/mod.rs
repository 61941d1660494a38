//! `mesh bus`: the mesh's own broker, from its composed file.

#[cfg(unix)]
mod run;

use clap::{Args, Subcommand};

use crate::shell::{Exit, Failure, Shell};

/// The mesh's own broker: run it, raise it, look at it.
#[derive(Debug, Args)]
pub(crate) struct Bus {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[cfg(unix)]
    Run(run::Run),
}

pub(crate) fn run(asked: &Bus, shell: &mut Shell) -> Result<Exit, Failure> {
    match &asked.verb {
        #[cfg(unix)]
        Verb::Run(asked) => run::run(asked, shell),
    }
}
