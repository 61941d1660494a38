//! Secrets for those who have none yet, and where they go.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use mesh_clock::SystemClock;
use mesh_control::compose::{Composition, User};
use mesh_control::secrets::{
    Endpoint, Method, Minted, Overwrite, Recipient, SecretStore, State, document_name, may_write,
};
use mesh_core::identity::Principal;
use mesh_core::name::UserName;
use mesh_core::port::Clock as _;

use crate::operator;
use crate::shell::Failure;

/// Who gets a secret, and how it reaches them.
pub(super) struct Minting<'a> {
    mesh: &'a Composition,
    users: Vec<UserName>,
    method: Method,
    /// The folder of the credentials.
    folder: &'a Path,
    recipients: &'a [Recipient],
    overwrite: Overwrite,
    endpoint: Endpoint,
}

/// What was asked for.
pub(super) struct Wanted<'a> {
    pub(super) folder: Option<&'a Path>,
    pub(super) recipients: &'a [Recipient],
    pub(super) overwrite: Overwrite,
    /// Where those who get one find the bus.
    pub(super) bus: &'a operator::At,
    /// Where relative paths of the mesh file begin.
    pub(super) home: &'a Path,
}

impl<'a> Minting<'a> {
    /// Nothing, where everybody has a secret. Says beforehand what would keep a secret from who it is for.
    pub(super) fn of(
        mesh: &'a Composition,
        store: &SecretStore,
        wanted: &Wanted<'a>,
    ) -> Result<Option<Self>, Failure> {
        // Who has one that nobody got, gets another, if it can be handed over. A person is given theirs by
        // whoever began to issue it.
        let is_person = |user: &&User| matches!(user.principal(), Principal::Person { .. });
        let has = |user: &&User| {
            is_person(user)
                || match store.record(user.name()).map(|record| record.state) {
                    None => false,
                    Some(State::Minted) => wanted.folder.is_none(),
                    Some(_) => true,
                }
        };
        let without: Vec<&User> = mesh.users().iter().filter(|user| !has(user)).collect();
        if without.is_empty() {
            return Ok(None);
        }
        let Some(folder) = wanted.folder else {
            let names: Vec<&str> = without.iter().map(|user| user.name()).collect();
            let what = format!("no secret yet: {}", names.join(", "));
            let hint = "--credentials DIR mints them, and writes the credentials there";
            return Err(Failure::new(what, hint));
        };
        let endpoint = wanted.bus.endpoint(mesh.bus(), wanted.home)?;
        made(folder)?;
        let sealed = !wanted.recipients.is_empty();
        let mut users = Vec::new();
        for user in without {
            let name = UserName::new(user.name()).map_err(|error| ours(&error))?;
            let file = folder.join(document_name(&name, user.principal(), sealed));
            may_write(&file, wanted.overwrite).map_err(|error| {
                operator::document_failure(&error).or("--replace takes its place")
            })?;
            users.push(name);
        }
        let method = Method::of(mesh.bus());
        let Wanted { recipients, overwrite, .. } = *wanted;
        Ok(Some(Self { mesh, users, method, folder, recipients, overwrite, endpoint }))
    }

    pub(super) fn mint(&self, store: &mut SecretStore) -> Result<Vec<Minted>, Failure> {
        let now = SystemClock::new().now();
        store.ensure(&self.users, self.method, now).map_err(|error| operator::store_failure(&error))
    }

    /// Writes the credential of a secret, and notes that it is with whom it is for.
    pub(super) fn hand_over(
        &self,
        store: &mut SecretStore,
        minted: &Minted,
    ) -> Result<PathBuf, Failure> {
        let user = self.mesh.user(minted.user().as_str()).ok_or_else(|| ours(&"a user is gone"))?;
        let principal: &Principal = user.principal();
        let sealed = !self.recipients.is_empty();
        let file = self.folder.join(document_name(minted.user(), principal, sealed));
        let to = (file.as_path(), self.overwrite);
        store
            .hand_over(minted, principal, &self.endpoint, self.recipients, to)
            .map_err(|error| operator::hand_over_failure(&error))?;
        Ok(file)
    }
}

/// The folder, made for this user alone if it isn't there.
fn made(folder: &Path) -> Result<(), Failure> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let hint = "name a folder in one that is there, and that this user may write to";
            Err(Failure::new(format!("can't make it: {error}"), hint).at(folder.display()))
        }
        _ => Ok(()),
    }
}

fn ours(error: &impl ToString) -> Failure {
    Failure::new(error.to_string(), "this is a mistake of ours")
}
