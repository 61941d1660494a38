//! `mesh operator revoke`.

use std::fmt;

use clap::Args;
use mesh_control::secrets::{SecretStore, StoreError};
use mesh_core::name::PersonName;
use serde::Serialize;

use super::arguments::Places;
use super::bus::{Reached, recompose};
use super::failure::store_failure;
use super::people;
use crate::mesh_files::MeshFiles;
use crate::shell::{Answer, Exit, Failure, Shell};

/// Take a person's credential away: it counts no more, and a connection that it has ends.
///
/// It works for who is no longer in the mesh file, too. Revoking again is good, and composes again.
#[derive(Debug, Args)]
pub(super) struct Revoke {
    /// Who, as the mesh file calls or called them.
    #[arg(value_name = "PERSON", value_parser = people::named)]
    person: PersonName,
    #[command(flatten)]
    places: Places,
}

pub(super) fn run(asked: &Revoke, shell: &mut Shell) -> Result<Exit, Failure> {
    asked.places.bus_is_there()?;
    let files = MeshFiles::read(&asked.places.mesh)?;
    let user = people::user(&asked.person)?;
    let what = format!("mesh operator revoke {}", asked.person);
    let mut store =
        SecretStore::open(&asked.places.store, &what).map_err(|error| store_failure(&error))?;
    let changed = store.revoke(&user).map_err(|error| match error {
        StoreError::Unknown { .. } => Failure::new(
            format!("{} has no credential", asked.person),
            "`mesh operator list` says who has one",
        ),
        error => store_failure(&error),
    })?;
    let reached = recompose(&files, &store, &asked.places)?;
    shell.answer(&Revoked { user: user.to_string(), changed, reached })?;
    Ok(Exit::Good)
}

#[derive(Debug, Serialize)]
struct Revoked {
    user: String,
    /// Whether it counted until now.
    changed: bool,
    reached: Reached,
}

impl Answer for Revoked {
    const SCHEMA: &'static str = "mesh.operator.revoked/1";
}

impl fmt::Display for Revoked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let already = if self.changed { "" } else { " already" };
        writeln!(f, "{} is revoked{already}", self.user)?;
        writeln!(f, "{}", people::told(self.reached))
    }
}
