use std::collections::BTreeSet;

use mesh_core::manifest::{Bus, Isolation};

use crate::compose::Account;

/// Which accounts of a server are a mesh's, and which users are its controller's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ours {
    /// The accounts, by what the server calls them.
    pub accounts: BTreeSet<String>,
    /// The one that has the streams.
    pub streams: String,
    /// Whom the controller logs in as: user names, or the public keys that the server calls them by.
    pub controllers: BTreeSet<String>,
}

impl Ours {
    /// Those of a mesh whose file says this of its bus.
    #[must_use]
    pub fn of(bus: &Bus) -> Self {
        let name = |account: Account| format!("{}{account}", bus.account_prefix.as_str());
        let (accounts, streams) = match bus.isolation {
            Isolation::Split => (vec![Account::Bus, Account::Edge], Account::Bus),
            Isolation::OneAccount => (vec![Account::Mesh], Account::Mesh),
        };
        Self {
            accounts: accounts.into_iter().map(name).collect(),
            streams: name(streams),
            controllers: ["controller", "controller-edge"].map(String::from).into(),
        }
    }

    /// The same with one more name that the controller logs in as: its public nkey.
    #[must_use]
    pub fn with_controller(mut self, user: impl Into<String>) -> Self {
        self.controllers.insert(user.into());
        self
    }
}
