//! `mesh federation explain`: `mesh envelope explain` with the guards of a gateway's file.

use std::path::PathBuf;

use clap::Args;
use mesh_core::guard::{ChainBuilder, EdgeGuards, GuardChain, HashSecret, Mode};
use mesh_core::name::RealmName;
use mesh_federation::edge::Closed;

use super::config::{self, edge_guards};
use crate::explain::envelope::{Arrival, judged};
use crate::shell::{Exit, Failure, Shell, input};

/// Say which guard of a gateway decides about captured envelopes, and why.
///
/// The capture is as for `mesh envelope explain`. The guards that wait, a proof (MXSEC) and marks in a
/// shared store, are not asked.
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// The capture; stdin, if it is - or not given.
    #[arg(value_name = "FILE", default_value = input::STDIN)]
    file: PathBuf,
    /// The gateway's file, with its policy and rates.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Without --config: the realm, whose gateway does what the protocol says.
    #[arg(
        long,
        value_name = "REALM",
        required_unless_present = "config",
        conflicts_with = "config"
    )]
    realm: Option<RealmName>,
    /// When it arrives, for expiry and limits: `now`; `sent`, when each says that it was sent; or a
    /// moment, RFC 3339 or milliseconds since 1970.
    #[arg(long, value_name = "WHEN", default_value = "now")]
    at: Arrival,
}

pub(super) fn run(asked: &Explain, shell: &mut Shell) -> Result<Exit, Failure> {
    let (realm, chain) = match (&asked.config, &asked.realm) {
        (Some(path), _) => match config::read(path)? {
            Ok(file) => (file.config.realm.clone(), chain(edge_guards(&file.config))),
            Err(mistakes) => {
                shell.answer(&mistakes)?;
                let hint = "mend it, or say --realm instead";
                let failure = Failure::new("the gateway's file has mistakes", hint);
                return Err(failure.at(path.display()));
            }
        },
        (None, Some(realm)) => {
            // Nobody outside chooses what is in a capture that one explains oneself.
            let guards = EdgeGuards::new(realm.clone(), HashSecret::new([0; 16]));
            (realm.clone(), chain(guards))
        }
        (None, None) => {
            return Err(Failure::new("no realm is named", "say --realm, or --config"));
        }
    };
    judged(&asked.file, &realm, chain, asked.at, shell)
}

/// The chain of a gateway: what is the realm's own is closed, whatever the policy says.
fn chain(guards: EdgeGuards) -> ChainBuilder {
    GuardChain::standard(guards).guard(Mode::Enforce, Closed)
}
