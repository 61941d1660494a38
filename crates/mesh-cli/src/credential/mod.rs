//! `mesh credential`: what somebody was given, as a file to connect with.

mod open;

use clap::{Args, Subcommand};

use crate::shell::{Exit, Failure, Shell};

/// A credential that one was given.
#[derive(Debug, Args)]
pub(crate) struct Credential {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Open(open::Open),
}

pub(crate) fn run(asked: &Credential, shell: &mut Shell) -> Result<Exit, Failure> {
    match &asked.verb {
        Verb::Open(asked) => open::run(asked, shell),
    }
}
