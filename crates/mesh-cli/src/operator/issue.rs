//! `mesh operator issue`.

use std::fmt;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use mesh_clock::SystemClock;
use mesh_control::secrets::{
    DocumentError, Method, Overwrite, SecretStore, StoreError, write_document,
};
use mesh_core::identity::Principal;
use mesh_core::name::PersonName;
use mesh_core::port::Clock as _;
use mesh_core::text::Printable;
use serde::Serialize;

use super::arguments::Places;
use super::bus::{Reached, composed, recompose};
use super::endpoint::At;
use super::failure::{document_failure, hand_over_failure, store_failure};
use super::people::{self, recipients};
use crate::mesh_files::MeshFiles;
use crate::shell::{Answer, Exit, Failure, Shell};

/// Give a person of the mesh file a credential.
///
/// The server knows the person before the credential is handed out, where a bus runs. It is sealed to the person's
/// key (`mesh operator keygen` makes one, `mesh credential open` opens what was sealed to it), and printed or
/// written to a file; plain only where that is asked for, and never printed.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("form").required(true).args(["recipient", "plain"]))]
pub(super) struct Issue {
    /// Who, as the mesh file calls them.
    #[arg(value_name = "PERSON", value_parser = people::named)]
    person: PersonName,
    #[command(flatten)]
    places: Places,
    #[command(flatten)]
    at: At,
    /// The key that it is sealed to (`age1…`); several for a person with several.
    // Read here, not by clap, which repeats what it can't read: a secret key, by mistake.
    #[arg(long, value_name = "KEY")]
    recipient: Vec<String>,
    /// Don't seal it: a file of mode 600, for a person on this machine.
    #[arg(long, requires = "out")]
    plain: bool,
    /// The file that it goes into. A file that is there is left alone.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file that is there.
    #[arg(long, requires = "out")]
    replace: bool,
    /// Make another secret for who has one; that one counts no more.
    #[arg(long)]
    rotate: bool,
}

pub(super) fn run(asked: &Issue, shell: &mut Shell) -> Result<Exit, Failure> {
    let recipients = recipients(&asked.recipient)?;
    asked.places.bus_is_there()?;
    let files = MeshFiles::read(&asked.places.mesh)?;
    people::find(&files.file, &asked.person)?;
    let bus = &files.file.bus;
    let endpoint = asked.at.endpoint(bus, &asked.places.bus)?;
    let overwrite = if asked.replace { Overwrite::Replace } else { Overwrite::Never };
    // Before anything changes: a secret that can't be handed over counts, and takes the place of another.
    if let Some(out) = &asked.out {
        mesh_control::secrets::may_write(out, overwrite).map_err(|error| unwritable(&error))?;
    }
    let principal = Principal::Person { name: asked.person.clone() };
    let user = people::user(&asked.person)?;
    let what = format!("mesh operator issue {}", asked.person);
    let mut store =
        SecretStore::open(&asked.places.store, &what).map_err(|error| store_failure(&error))?;
    composed(&files, &store, &asked.places)?;
    let (method, now) = (Method::of(bus), SystemClock::new().now());
    let minted = match asked.rotate {
        true => store.rotate(&user, method, now),
        false => store.mint(&user, method, now),
    };
    let minted = minted.map_err(|error| unminted(&error, &store, &asked.person))?;
    let reached = recompose(&files, &store, &asked.places)?;
    let document = minted.document(&principal, &endpoint, &recipients);
    let document = document.map_err(|error| hand_over_failure(&error))?;
    if let Some(out) = &asked.out {
        write_document(out, &document, overwrite).map_err(|error| document_failure(&error))?;
    }
    let told = shell.answer(&Issued {
        user: user.to_string(),
        recipients: recipients.iter().map(ToString::to_string).collect(),
        file: asked.out.as_ref().map(|out| out.display().to_string()),
        // Without a file it is sealed: the arguments see to that.
        sealed: asked.out.is_none().then(|| document.expose().to_owned()),
        reached,
    });
    if asked.out.is_some() || told.is_ok() {
        store.handed_over(&user, &recipients).map_err(|error| store_failure(&error))?;
    }
    told?;
    Ok(Exit::Good)
}

fn unwritable(error: &DocumentError) -> Failure {
    let failure = document_failure(error);
    match error {
        DocumentError::Exists { .. } => failure.or("--replace takes its place"),
        _ => failure,
    }
}

fn unminted(error: &StoreError, store: &SecretStore, person: &PersonName) -> Failure {
    let rotate = "--rotate makes another, and the one before counts no more";
    match error {
        StoreError::Exists { user } => {
            let since = store.record(user.as_str()).map(|record| record.made.to_string());
            let since = since.unwrap_or_default();
            Failure::new(format!("{person} has a credential, made {since}"), rotate)
        }
        StoreError::Revoked { .. } => Failure::new(
            format!("{person} is revoked"),
            "--rotate lets them in again, with another secret",
        ),
        error => store_failure(error),
    }
}

#[derive(Debug, Serialize)]
struct Issued {
    user: String,
    /// Whom it was sealed to; nobody, where it is plain.
    recipients: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The sealed credential, where it went into no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed: Option<String>,
    reached: Reached,
}

impl Answer for Issued {
    const SCHEMA: &'static str = "mesh.operator.issued/1";
}

/// The sealed text alone where there is no file, so that it can be handed on as it is.
impl fmt::Display for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(sealed) = &self.sealed {
            return f.write_str(sealed);
        }
        let file = self.file.as_deref().unwrap_or_default();
        let form = if self.recipients.is_empty() { "plain" } else { "sealed" };
        writeln!(f, "{}: the credential of {}, {form}", Printable(file), self.user)?;
        writeln!(f, "{}", people::told(self.reached))
    }
}
