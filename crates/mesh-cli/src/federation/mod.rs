//! `mesh federation`: a realm's gateway from a file, and what its operator asks it.

mod call;
mod config;
mod desk;
mod explain;
mod guards;
mod keygen;
mod listing;
mod operator;
mod serve;
mod watch;

use clap::{Args, Subcommand};

pub(crate) use config::Span;

use crate::runtime;
use crate::shell::{Exit, Failure, Shell};

/// A realm's gateway: serve one, and ask it.
#[derive(Debug, Args)]
pub(crate) struct Federation {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Serve(serve::Serve),
    Call(call::Call),
    Watch(watch::Watch),
    Leases(listing::Leases),
    Sessions(listing::Sessions),
    Guards(guards::Guards),
    Explain(explain::Explain),
    Keygen(keygen::Keygen),
}

pub(crate) fn run(asked: &Federation, shell: &mut Shell) -> Result<Exit, Failure> {
    match &asked.verb {
        Verb::Serve(asked) => serve::run(asked, shell),
        Verb::Call(asked) => call::run(asked, shell),
        Verb::Watch(asked) => watch::run(asked, shell),
        Verb::Leases(asked) => listing::leases(asked, shell),
        Verb::Sessions(asked) => listing::sessions(asked, shell),
        Verb::Guards(asked) => guards::run(asked, shell),
        Verb::Explain(asked) => explain::run(asked, shell),
        Verb::Keygen(asked) => keygen::run(asked, shell),
    }
}
