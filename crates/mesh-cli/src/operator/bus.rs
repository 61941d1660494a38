//! The server's file, composed anew, and what the server makes of it.

use mesh_control::compose::{ComposeError, More, Place};
use mesh_control::folder::{Awaited, BusFolder, FolderError, Outcome};
use mesh_control::secrets::SecretStore;
use serde::Serialize;

use super::arguments::Places;
use crate::mesh_files::MeshFiles;
use crate::shell::Failure;

/// How far the change has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Reached {
    /// The server runs with it.
    Live,
    /// It is in the bus's folder, from which no server runs.
    NoBus,
    /// It is in the bus's folder; nobody waited for more.
    NotWaited,
}

/// Composes the server's file from the mesh's files and the store, and waits until the server runs with it.
pub(super) fn recompose(
    files: &MeshFiles,
    store: &SecretStore,
    places: &Places,
) -> Result<Reached, Failure> {
    let more = More { revoked: store.without_account(&files.file), ..More::default() };
    let composition = files.compose(&more)?;
    let folder = BusFolder::at(&places.bus);
    let place = Place { folder: Some(places.bus.display().to_string()), ..Place::default() };
    let text = composition.nats(store, &place).map_err(|error| uncomposed(&error))?;
    let written = folder.write(&text).map_err(|error| untold(&error))?;
    let Some(patience) = places.patience() else {
        return Ok(Reached::NotWaited);
    };
    let hint = "`mesh bus status` says more; the same command again goes on from here";
    let failed = |what: String| Err(Failure::new(what, hint).at(places.bus.display()));
    match folder.wait(written.digest, patience).map_err(|error| untold(&error))? {
        Awaited::Unsupervised => Ok(Reached::NoBus),
        Awaited::Judged(report) => match report.outcome {
            Outcome::Live => Ok(Reached::Live),
            outcome => {
                let why = report.error.as_deref().unwrap_or("it says no reason");
                failed(format!("the server does not run with the new file ({outcome}): {why}"))
            }
        },
        Awaited::Replaced => failed("another file has taken the new one's place".to_owned()),
        Awaited::Silence => {
            failed(format!("nothing was said of the new file within {} s", patience.as_secs()))
        }
    }
}

fn uncomposed(error: &ComposeError) -> Failure {
    let hint = match error {
        ComposeError::NoVerifier(_) => "`mesh perm compose` mints what is missing",
        _ => "`mesh perm compose` says more",
    };
    Failure::new(error.to_string(), hint)
}

fn untold(error: &FolderError) -> Failure {
    Failure::new(error.to_string(), "let this user read and write in the bus's folder")
}
