//! `mesh operator keygen`.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use mesh_control::secrets::{Identity, Overwrite, Wrote, write_document};
use serde::Serialize;

use super::document_failure;
use crate::shell::{Answer, Exit, Failure, Shell};

/// Make a key that credentials are sealed to (age): the secret half into a new file, the public one printed.
///
/// Whoever is to be given a credential makes it, keeps the file, and gives the operator what is printed.
#[derive(Debug, Args)]
pub(super) struct Keygen {
    /// Where the secret half goes. A file that is there is left alone.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(asked: &Keygen, shell: &mut Shell) -> Result<Exit, Failure> {
    let key = Identity::generate();
    let wrote = write_document(&asked.file, &key.to_file(), Overwrite::Never);
    match wrote.map_err(|error| document_failure(&error))? {
        Wrote::New => {}
        // Of a new key that can't be.
        _ => return Err(Failure::new("it was there already", "this is a mistake of ours")),
    }
    let file = asked.file.display().to_string();
    shell.answer(&Made { file, recipient: key.recipient().to_string() })?;
    Ok(Exit::Good)
}

#[derive(Debug, Serialize)]
struct Made {
    file: String,
    /// For `--recipient`.
    recipient: String,
}

impl Answer for Made {
    const SCHEMA: &'static str = "mesh.operator.key/1";
}

/// The public half alone, so that it can be handed on as it is.
impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.recipient)
    }
}
