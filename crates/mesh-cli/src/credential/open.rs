//! `mesh credential open`.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use mesh_control::secrets::{Identity, Overwrite, Wrote, open, write_document};
use mesh_core::credential::{Credential, MAX_DOCUMENT_BYTES};
use mesh_core::text::Printable;
use serde::Serialize;

use crate::operator::{document_failure, seal_failure};
use crate::shell::{Answer, Exit, Failure, Shell, input};

/// The longest sealed document that is read, in bytes: armored, and with many recipients.
const MOST: usize = 4 * MAX_DOCUMENT_BYTES;

/// Open a credential that was sealed to one's key, into a file to connect with.
///
/// The file is readable for its owner alone; MESH_CREDENTIAL names it to whoever connects. Nothing of the secret is
/// printed.
#[derive(Debug, Args)]
pub(super) struct Open {
    /// What one was given, or `-` for stdin.
    #[arg(value_name = "SEALED")]
    sealed: PathBuf,
    /// The file that `mesh operator keygen` wrote.
    #[arg(long, value_name = "FILE")]
    identity: PathBuf,
    /// Where the credential goes. A file that is there is left alone.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace what is there, such as a credential that counts no more.
    #[arg(long)]
    replace: bool,
}

pub(super) fn run(asked: &Open, shell: &mut Shell) -> Result<Exit, Failure> {
    let name = input::name(&asked.sealed);
    let key = String::from_utf8(input::bytes(&asked.identity, MAX_DOCUMENT_BYTES)?)
        .map_err(|_| "not UTF-8".to_owned())
        .and_then(|text| Identity::parse(&text).map_err(|error| error.to_string()));
    let key = key.map_err(|why| {
        let hint = "name the file that `mesh operator keygen` wrote";
        Failure::new(why, hint).at(input::name(&asked.identity))
    })?;
    let sealed = input::bytes(&asked.sealed, MOST)?;
    let opened = open(&sealed, &key).map_err(|error| seal_failure(&error).at(&name))?;
    let credential = Credential::parse(opened.expose()).map_err(|error| {
        let hint = "ask whoever issued it for another";
        Failure::new(format!("what is inside is no credential: {error}"), hint).at(&name)
    })?;
    let overwrite = if asked.replace { Overwrite::Replace } else { Overwrite::Never };
    let wrote = write_document(&asked.out, &opened, overwrite);
    let wrote = wrote.map_err(|error| document_failure(&error).or("--replace takes its place"))?;
    shell.answer(&Opened {
        file: asked.out.display().to_string(),
        principal: credential.principal().to_string(),
        url: credential.url().to_string(),
        changed: wrote != Wrote::Same,
    })?;
    Ok(Exit::Good)
}

#[derive(Debug, Serialize)]
struct Opened {
    file: String,
    /// Whose credential it is.
    principal: String,
    /// Where it leads, without the password.
    url: String,
    /// Whether the file holds something else than before.
    changed: bool,
}

impl Answer for Opened {
    const SCHEMA: &'static str = "mesh.credential.opened/1";
}

impl fmt::Display for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, principal, url, changed } = self;
        let (file, url) = (Printable(file), Printable(url));
        let already = if *changed { "" } else { " (it was there already)" };
        writeln!(f, "{file}: the credential of {principal}, at {url}{already}")
    }
}
