//! `mesh operator`: people are given credentials, and have them taken away.

mod arguments;
mod bus;
mod endpoint;
mod failure;
mod issue;
mod keygen;
mod list;
mod people;
mod revoke;

use clap::{Args, Subcommand};

use crate::shell::{Exit, Failure, Shell};

pub(crate) use bus::{Reached, damage, untold, wait};
pub(crate) use endpoint::At;
pub(crate) use failure::{document_failure, hand_over_failure, seal_failure, store_failure};
pub(crate) use people::{recipients, told};

/// People of a mesh: give them credentials, and take them away.
#[derive(Debug, Args)]
pub(crate) struct Operator {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Issue(issue::Issue),
    Revoke(revoke::Revoke),
    List(list::List),
    Keygen(keygen::Keygen),
}

pub(crate) fn run(asked: &Operator, shell: &mut Shell) -> Result<Exit, Failure> {
    match &asked.verb {
        Verb::Issue(asked) => issue::run(asked, shell),
        Verb::Revoke(asked) => revoke::run(asked, shell),
        Verb::List(asked) => list::run(asked, shell),
        Verb::Keygen(asked) => keygen::run(asked, shell),
    }
}
