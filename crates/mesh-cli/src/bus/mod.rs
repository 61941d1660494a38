//! `mesh bus`: the mesh's own broker, from its composed file.

#[cfg(unix)]
mod adopt;
#[cfg(unix)]
mod certificate;
mod genesis;
mod reach;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod status;

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
    Adopt(adopt::Adopt),
    #[cfg(unix)]
    Certificate(certificate::Certificate),
    #[cfg(unix)]
    Run(run::Run),
    Genesis(genesis::Genesis),
    #[cfg(unix)]
    Status(status::Status),
}

pub(crate) fn run(asked: &Bus, shell: &mut Shell) -> Result<Exit, Failure> {
    match &asked.verb {
        #[cfg(unix)]
        Verb::Adopt(asked) => adopt::run(asked, shell),
        #[cfg(unix)]
        Verb::Certificate(asked) => certificate::run(asked, shell),
        #[cfg(unix)]
        Verb::Run(asked) => run::run(asked, shell),
        Verb::Genesis(asked) => genesis::run(asked, shell),
        #[cfg(unix)]
        Verb::Status(asked) => status::run(asked, shell),
    }
}
