//! Who may connect to a mesh, and as what.

use std::collections::BTreeSet;
use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::manifest::{Isolation, Mesh};
use mesh_core::permissions::Permissions;
use mesh_core::subject::SubjectError;
use mesh_core::topology::Account;

use crate::link::{Link, Login};

/// A user of a mesh's server, as a composition has it: what it logs in as, in which account, who it is
/// and what it may do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "whoever composes says all of it")]
pub struct User {
    /// What it logs in as: `mail.n1`, `controller-edge`.
    pub name: String,
    /// Where it is.
    pub account: Account,
    /// Who it is.
    pub principal: Principal,
    /// What it may do.
    pub permissions: Permissions,
}

/// Who has a user.
#[derive(Debug, Clone)]
pub(crate) enum Users {
    /// Whoever the files know, less those who are revoked.
    OfFiles { revoked: BTreeSet<Principal> },
    /// These, and nobody else.
    Composed(Vec<Arc<User>>),
}

/// What somebody is let in as.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) account: Account,
    pub(crate) login: Login,
    pub(crate) permissions: Permissions,
}

impl Users {
    /// What `principal` is let in as; nothing, where it has no user. Who has two, as the controller of a
    /// split mesh has, has both in one.
    pub(crate) fn of(
        &self,
        mesh: &Mesh,
        principal: &Principal,
    ) -> Result<Option<Entry>, SubjectError> {
        let users = match self {
            Self::OfFiles { revoked } if revoked.contains(principal) => return Ok(None),
            Self::OfFiles { .. } => {
                let (account, permissions) =
                    (account(mesh, principal), mesh.permissions(principal)?);
                return Ok(Some(Entry { account, login: Login::Principal, permissions }));
            }
            Self::Composed(users) => users,
        };
        let mut theirs = users.iter().filter(|user| is_of(user, principal));
        let Some(first) = theirs.next() else {
            return Ok(None);
        };
        let mut entry = first.entry();
        for other in theirs {
            entry.permissions = entry.permissions.and(other.permissions.clone());
            (entry.account, entry.login) = (Account::Whole, Login::Principal);
        }
        Ok(Some(entry))
    }

    /// What the user of this name is let in as.
    pub(crate) fn named(&self, name: &str) -> Option<Arc<User>> {
        match self {
            Self::OfFiles { .. } => None,
            Self::Composed(users) => users.iter().find(|user| user.name == name).cloned(),
        }
    }

    /// What a connection that is there may do now; nothing, where its user is gone, or is in the other
    /// account now.
    pub(crate) fn now(&self, mesh: &Mesh, link: &Link) -> Option<Permissions> {
        let entry = match &link.login {
            Some(Login::Named(name)) => self.named(name).map(|user| user.entry()),
            _ => self.of(mesh, &link.principal).unwrap_or_else(|error| {
                tracing::warn!(principal = %link.principal, %error, "no permissions follow");
                None
            }),
        };
        entry.filter(|entry| entry.account == link.account).map(|entry| entry.permissions)
    }
}

impl User {
    pub(crate) fn entry(&self) -> Entry {
        Entry {
            account: self.account,
            login: Login::Named(self.name.as_str().into()),
            permissions: self.permissions.clone(),
        }
    }
}

/// Any instance of the controller logs in as its users, whatever they call it.
fn is_of(user: &User, principal: &Principal) -> bool {
    use Principal::Controller;
    matches!((&user.principal, principal), (Controller { .. }, Controller { .. }))
        || user.principal == *principal
}

/// Where somebody is by the files. The controller has a user in each account.
fn account(mesh: &Mesh, principal: &Principal) -> Account {
    match (mesh.bus().isolation, principal) {
        (Isolation::Split, Principal::Controller { .. }) | (Isolation::OneAccount, _) => {
            Account::Whole
        }
        (Isolation::Split, _) => Account::Edge,
    }
}
