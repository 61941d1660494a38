//! `mesh operator list`.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use mesh_control::secrets::{Method, SecretStore, State};
use mesh_core::text::Printable;
use serde::Serialize;

use super::failure::store_failure;
use super::people;
use crate::mesh_files::MeshFiles;
use crate::shell::style::{FAINT, STRONG, WARNING};
use crate::shell::{Answer, Exit, Failure, Shell};

/// Say who has a secret, since when, of which kind and sealed to whom. The store has no secret to show.
#[derive(Debug, Args)]
pub(super) struct List {
    /// The store of what proves the secrets.
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    /// Also say whose secrets were made another way than this mesh file asks for, and which of its people have none.
    #[arg(long, value_name = "FILE")]
    mesh: Option<PathBuf>,
}

pub(super) fn run(asked: &List, shell: &mut Shell) -> Result<Exit, Failure> {
    let files = asked.mesh.as_deref().map(MeshFiles::read).transpose()?;
    let store = SecretStore::open(&asked.store, "mesh operator list");
    let store = store.map_err(|error| store_failure(&error))?;
    let method = files.as_ref().map(|files| Method::of(&files.file.bus));
    let users = store.records().map(|(user, record)| User {
        user: user.to_string(),
        kind: record.kept.kind(),
        cost: record.kept.cost(),
        made: record.made.to_string(),
        state: record.state,
        sealed_to: record.sealed_to.iter().map(ToString::to_string).collect(),
        old: method.map(|method| record.state != State::Revoked && !method.made(&record.kept)),
    });
    let users = users.collect();
    let mut without = Vec::new();
    for person in files.iter().flat_map(|files| &files.file.people) {
        let user = people::user(&person.name)?;
        if store.record(user.as_str()).is_none() {
            without.push(user.to_string());
        }
    }
    let damaged = store.damaged().iter().map(|damaged| Damage {
        file: damaged.file.display().to_string(),
        problem: damaged.why.clone(),
    });
    let listed = Listed { users, without, damaged: damaged.collect() };
    shell.answer(&listed)?;
    Ok(if listed.damaged.is_empty() { Exit::Good } else { Exit::Fault })
}

#[derive(Debug, Serialize)]
struct Listed {
    users: Vec<User>,
    /// People of the mesh file who were never given a credential.
    without: Vec<String>,
    damaged: Vec<Damage>,
}

#[derive(Debug, Serialize)]
struct User {
    user: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<u32>,
    made: String,
    state: State,
    sealed_to: Vec<String>,
    /// Whether it was made another way than the mesh file asks for, where that was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<bool>,
}

#[derive(Debug, Serialize)]
struct Damage {
    file: String,
    problem: String,
}

impl Answer for Listed {
    const SCHEMA: &'static str = "mesh.operator.list/1";
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for user in &self.users {
            let state = match user.state {
                State::Live => "live",
                State::Revoked => "revoked",
                _ => "minted, not handed over",
            };
            let cost = user.cost.map(|cost| format!(" of cost {cost}")).unwrap_or_default();
            let User { user, kind, made, sealed_to, old, .. } = user;
            writeln!(f, "{STRONG}{user}{STRONG:#}: {state}, {kind}{cost}, made {made}")?;
            for recipient in sealed_to {
                writeln!(f, "  {FAINT}sealed to {recipient}{FAINT:#}")?;
            }
            if *old == Some(true) {
                writeln!(
                    f,
                    "  {WARNING}old{WARNING:#}: the mesh file asks for another kind or cost; rotate it"
                )?;
            }
        }
        for user in &self.without {
            writeln!(f, "{STRONG}{user}{STRONG:#}: none yet")?;
        }
        for Damage { file, problem } in &self.damaged {
            writeln!(f, "{WARNING}damaged{WARNING:#}: {}: {problem}", Printable(file))?;
        }
        if self.users.is_empty() && self.without.is_empty() && self.damaged.is_empty() {
            writeln!(f, "nobody has a secret")?;
        }
        Ok(())
    }
}
