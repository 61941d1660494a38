//! Secrets for those who have none yet, and where they go.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use mesh_clock::SystemClock;
use mesh_control::secrets::{
    Endpoint, Method, Minted, Overwrite, Recipient, SecretStore, State, document_name, may_write,
};
use mesh_core::manifest::Bus;
use mesh_core::port::Clock as _;

use super::broker::Account;
use crate::operator;
use crate::shell::Failure;

/// Who gets a secret, and how it reaches them.
pub(super) struct Minting<'a> {
    accounts: Vec<Account>,
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
        accounts: Vec<Account>,
        method: Method,
        bus: &Bus,
        store: &SecretStore,
        wanted: &Wanted<'a>,
    ) -> Result<Option<Self>, Failure> {
        // Who has one that nobody got, gets another, if it can be handed over.
        let has = |account: &Account| match store
            .record(account.name.as_str())
            .map(|record| record.state)
        {
            None => false,
            Some(State::Minted) => wanted.folder.is_none(),
            Some(_) => true,
        };
        let mut accounts = accounts;
        accounts.retain(|account| !has(account));
        if accounts.is_empty() {
            return Ok(None);
        }
        let names: Vec<String> = accounts.iter().map(|account| account.name.to_string()).collect();
        if let Some(damage) = operator::damage(store, &names) {
            return Err(damage);
        }
        let Some(folder) = wanted.folder else {
            return Err(without_secret(accounts.iter().map(|account| account.name.as_str())));
        };
        let endpoint = wanted.bus.endpoint(bus, wanted.home)?;
        made(folder)?;
        let Wanted { recipients, overwrite, .. } = *wanted;
        let minting = Self { accounts, method, folder, recipients, overwrite, endpoint };
        for account in &minting.accounts {
            may_write(&minting.file(account), overwrite).map_err(|error| {
                operator::document_failure(&error).or("--replace takes its place")
            })?;
        }
        Ok(Some(minting))
    }

    /// Where its credential goes.
    fn file(&self, account: &Account) -> PathBuf {
        let sealed = !self.recipients.is_empty();
        self.folder.join(document_name(&account.name, &account.principal, sealed))
    }

    pub(super) fn mint(&self, store: &mut SecretStore) -> Result<Vec<Minted>, Failure> {
        let now = SystemClock::new().now();
        let users = self.accounts.iter().map(|account| &account.name);
        store.ensure(users, self.method, now).map_err(|error| operator::store_failure(&error))
    }

    /// Writes the credential of a secret, and notes that it is with whom it is for.
    pub(super) fn hand_over(
        &self,
        store: &mut SecretStore,
        minted: &Minted,
    ) -> Result<PathBuf, Failure> {
        let mut accounts = self.accounts.iter();
        let account = accounts.find(|account| account.name == *minted.user());
        let account = account.ok_or_else(|| {
            Failure::new(format!("{} is gone", minted.user()), "this is a mistake of ours")
        })?;
        let file = self.file(account);
        let to = (file.as_path(), self.overwrite);
        store
            .hand_over(minted, &account.principal, &self.endpoint, self.recipients, to)
            .map_err(|error| operator::hand_over_failure(&error))?;
        Ok(file)
    }
}

/// The folder, made for this user alone if it isn't there.
pub(super) fn made(folder: &Path) -> Result<(), Failure> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let hint = "name a folder in one that is there, and that this user may write to";
            Err(Failure::new(format!("can't make it: {error}"), hint).at(folder.display()))
        }
        _ => Ok(()),
    }
}

/// That somebody has no secret yet.
pub(super) fn without_secret<'n>(names: impl Iterator<Item = &'n str>) -> Failure {
    let names: Vec<&str> = names.collect();
    let hint = "--credentials DIR mints them, and writes the credentials there";
    Failure::new(format!("no secret yet: {}", names.join(", ")), hint)
}
