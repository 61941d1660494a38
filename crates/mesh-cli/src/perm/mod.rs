//! `mesh perm`: accounts composed from a mesh's files, and who may what by them.

#[cfg(unix)]
mod broker;
mod can_i;
#[cfg(unix)]
mod compose;
#[cfg(unix)]
mod composed;
mod diff;
mod explain;
mod files;
#[cfg(unix)]
mod minting;
mod shown;
mod user;
mod who;

use clap::{Args, Subcommand};

use crate::shell::{Exit, Failure, Shell};

/// Who may do what on the mesh's broker: compose it, ask it, compare it.
#[derive(Debug, Args)]
pub(crate) struct Perm {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    #[cfg(unix)]
    Compose(compose::Compose),
    CanI(can_i::CanI),
    Explain(explain::Explain),
    Who(who::AskWho),
    Diff(diff::Compare),
}

pub(crate) fn run(asked: &Perm, shell: &mut Shell) -> Result<Exit, Failure> {
    match &asked.verb {
        #[cfg(unix)]
        Verb::Compose(asked) => compose::run(asked, shell),
        Verb::CanI(asked) => can_i::run(asked, shell),
        Verb::Explain(asked) => explain::run(asked, shell),
        Verb::Who(asked) => who::run(asked, shell),
        Verb::Diff(asked) => diff::run(asked, shell),
    }
}
