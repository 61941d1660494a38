//! What `mesh perm compose` answers.

use std::fmt;

use mesh_core::text::Printable;
use serde::Serialize;

use super::shown::left_out;
use crate::operator::{Reached, told};
use crate::shell::Answer;
use crate::shell::style::{ERROR, FAINT, GOOD, WARNING};

/// A file that was written.
#[derive(Debug, Serialize)]
pub(super) struct Composed {
    pub(super) file: String,
    /// SHA-256 of the file, as the server tells the one that it runs with.
    pub(super) digest: String,
    pub(super) users: usize,
    /// Whether it is another than was there.
    pub(super) changed: bool,
    /// What the server makes of it; nothing for a file that no server reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reached: Option<Reached>,
    /// Credentials that were written.
    pub(super) handed: Vec<Handed>,
    /// Users whose secrets were made another way than the mesh file asks for now.
    pub(super) old: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// Modules without an account, and why.
    pub(super) left_out: Vec<String>,
}

/// A credential that was written.
#[derive(Debug, Serialize)]
pub(super) struct Handed {
    pub(super) user: String,
    pub(super) file: String,
}

impl Answer for Composed {
    const SCHEMA: &'static str = "mesh.perm.composed/1";
}

impl fmt::Display for Composed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (style, word) =
            if self.left_out.is_empty() { (GOOD, "composed") } else { (ERROR, "not all composed") };
        let same = if self.changed { "" } else { ", the same as before" };
        let users = self.users;
        writeln!(f, "{style}{word}{style:#}: {users} users in {}{same}", Printable(&self.file))?;
        writeln!(f, "{FAINT}{}{FAINT:#}", self.digest)?;
        if let Some(reached) = self.reached {
            writeln!(f, "{}", told(reached))?;
        }
        for Handed { user, file } in &self.handed {
            writeln!(f, "{}: the credential of {user}", Printable(file))?;
        }
        if !self.old.is_empty() {
            let users = self.old.join(", ");
            writeln!(
                f,
                "{FAINT}note{FAINT:#}: made another way than the mesh file asks for now: {users}"
            )?;
        }
        for warning in &self.warnings {
            writeln!(f, "{WARNING}warning{WARNING:#}: {}", Printable(warning))?;
        }
        left_out(f, &self.left_out)
    }
}

/// Whether a file is what would be composed.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    pub(super) good: bool,
    pub(super) file: String,
    /// SHA-256 of what is there.
    pub(super) found: Option<String>,
    /// And of what would be composed.
    pub(super) composed: Option<String>,
    /// Users for whom a secret would be minted first.
    pub(super) without_secret: Vec<String>,
    /// Modules without an account, and why.
    pub(super) left_out: Vec<String>,
}

impl Answer for Checked {
    const SCHEMA: &'static str = "mesh.perm.checked/1";
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = Printable(&self.file);
        if self.good {
            writeln!(f, "{GOOD}good{GOOD:#}: {file} is what would be composed")?;
        } else if self.found.is_none() {
            writeln!(f, "{ERROR}not good{ERROR:#}: {file} is not there")?;
        } else {
            writeln!(f, "{ERROR}not good{ERROR:#}: {file} is another than would be composed")?;
        }
        for (what, digest) in [("there", &self.found), ("composed", &self.composed)] {
            if let Some(digest) = digest {
                writeln!(f, "{FAINT}{what}: {digest}{FAINT:#}")?;
            }
        }
        if !self.without_secret.is_empty() {
            writeln!(f, "no secret yet: {}", self.without_secret.join(", "))?;
        }
        left_out(f, &self.left_out)
    }
}
