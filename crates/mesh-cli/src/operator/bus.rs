//! The server's file, composed anew, and what the server makes of it.

use std::time::Duration;

use mesh_control::compose::{ComposeError, Composition, More, Place};
use mesh_control::folder::{Awaited, BusFolder, Digest, FolderError, Outcome};
use mesh_control::secrets::{SecretStore, StoreError};
use mesh_core::name::UserName;
use serde::Serialize;

use super::arguments::Places;
use super::failure::store_failure;
use crate::mesh_files::MeshFiles;
use crate::shell::Failure;

/// How far the change has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reached {
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
    let text = composed(files, store, places)?;
    let folder = BusFolder::at(&places.bus);
    let written = folder.write(&text).map_err(|error| untold(&error))?;
    let Some(patience) = places.patience() else {
        return Ok(Reached::NotWaited);
    };
    wait(&folder, written.digest, patience)
}

/// The server's file, from the mesh's files and the store as they are.
pub(super) fn composed(
    files: &MeshFiles,
    store: &SecretStore,
    places: &Places,
) -> Result<String, Failure> {
    let more = More { revoked: store.without_account(&files.file), ..More::default() };
    let composition = files.compose(&more)?;
    refused(files, &composition, places)?;
    composition.nats(store, &Place::default()).map_err(|error| uncomposed(&error, store))
}

/// Waits until the server runs with the file of this digest, if one runs from the folder.
pub(crate) fn wait(
    folder: &BusFolder,
    file: Digest,
    patience: Duration,
) -> Result<Reached, Failure> {
    let hint = "`mesh bus status` says more; the same command again goes on from here";
    let failed = |what: String| Err(Failure::new(what, hint).at(folder.path().display()));
    match folder.wait(file, patience).map_err(|error| untold(&error))? {
        Awaited::Unsupervised => Ok(Reached::NoBus),
        Awaited::LeftAlone(pid) => {
            let process =
                pid.map_or_else(|| "the server".to_owned(), |pid| format!("process {pid}"));
            let what = format!(
                "the server does not run with the new file: its supervisor was killed, and {process} runs on with \
                 what it had"
            );
            let hint = format!(
                "end {process}, then run `mesh bus run --dir {}`: it starts with the new file; or the same command \
                 again goes on from here",
                folder.path().display()
            );
            Err(Failure::new(what, hint).at(folder.path().display()))
        }
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

/// A module whose manifest somebody is writing runs on: who gives a person a credential doesn't end it unasked.
fn refused(files: &MeshFiles, composition: &Composition, places: &Places) -> Result<(), Failure> {
    let refused = composition.refused().iter().flat_map(|refused| &refused.problems);
    let told: Vec<String> = files.unread.iter().chain(refused).map(ToString::to_string).collect();
    if told.is_empty() || places.leave_out_refused {
        return Ok(());
    }
    let what = format!("manifests are refused, and nothing was composed:\n{}", told.join("\n"));
    Err(Failure::new(what, "mend them: `mesh check` shows each mistake in its place; the same command again goes on from here")
        .or("--leave-out-refused composes all the same, and takes these modules' accounts away"))
}

fn uncomposed(error: &ComposeError, store: &SecretStore) -> Failure {
    if let ComposeError::NoVerifier(users) = error
        && let Some(damage) = damage(store, users)
    {
        return damage;
    }
    let hint = match error {
        ComposeError::NoVerifier(_) => "`mesh perm compose` mints what is missing",
        _ => "`mesh perm compose` says more",
    };
    Failure::new(error.to_string(), hint)
}

/// What is wrong with the file of one of these users: who has a damaged one is not without a secret.
pub(crate) fn damage(store: &SecretStore, users: &[String]) -> Option<Failure> {
    let is_one = |user: &UserName| users.iter().any(|other| other == user.as_str());
    let mut damaged = store.damaged().iter();
    let damaged = damaged.find(|damaged| damaged.user.as_ref().is_some_and(is_one))?;
    let (file, why) = (damaged.file.clone(), damaged.why.clone());
    Some(store_failure(&StoreError::Damaged { file, why }))
}

pub(crate) fn untold(error: &FolderError) -> Failure {
    Failure::new(error.to_string(), "let this user read and write in the bus's folder")
}
