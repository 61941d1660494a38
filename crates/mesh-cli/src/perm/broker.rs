//! The broker that is composed for: what its file holds, and what its users are called.

use clap::ValueEnum;
use mesh_control::compose::rabbit::{PasswordHash, RabbitError};
use mesh_control::compose::{ComposeError, Composition, More, Place, User};
use mesh_control::secrets::{Kept, Method, SecretStore, State};
use mesh_core::identity::Principal;
use mesh_core::manifest::MeshFile;
use mesh_core::name::UserName;

use crate::shell::Failure;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A nats-server's whole configuration.
    Nats,
    /// RabbitMQ's definitions, for a mesh that is still there. Its passwords are others, in a store of their own.
    Rabbit,
}

/// Who the controller is on the bus that is being left (protocol §7).
const SUBSTRATE: &str = "substrate";

/// Somebody who logs in, as the store knows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: UserName,
    pub(super) principal: Principal,
}

/// What came of composing.
pub(super) enum Text {
    Whole(String),
    /// These have no secret, by their names in the store.
    Without(Vec<String>),
}

impl Format {
    /// Sees that the store is this broker's: the same names may stand for somebody on both.
    pub(super) fn owns(self, store: &SecretStore) -> Result<(), Failure> {
        let is_rabbits = |kept: &Kept| matches!(kept, Kept::Rabbit(_));
        let mut records = store.records();
        match records.find(|(_, record)| is_rabbits(&record.kept) != (self == Self::Rabbit)) {
            None => Ok(()),
            Some((user, _)) => {
                let what =
                    format!("the store is another broker's: it has a secret of {user} for that");
                Err(Failure::new(what, "name a store of its own"))
            }
        }
    }

    /// Who has no account, whatever the files say.
    pub(super) fn more(self, store: &SecretStore, file: &MeshFile) -> More {
        let revoked = match self {
            // People are issued theirs.
            Self::Nats => store.without_account(file),
            Self::Rabbit => {
                let revoked = store.records().filter(|(_, record)| record.state == State::Revoked);
                let principals =
                    revoked.filter_map(|(name, _)| Principal::from_amqp_user(name.as_str()));
                principals.map(|principal| here(&principal)).collect()
            }
        };
        More { revoked, ..More::default() }
    }

    pub(super) fn method(self, mesh: &Composition) -> Method {
        match self {
            Self::Nats => Method::of(mesh.bus()),
            Self::Rabbit => Method::Rabbit,
        }
    }

    /// Everybody who is given a secret here if they have none. On a nats-server people are given theirs by whoever
    /// issues it.
    pub(super) fn accounts(self, mesh: &Composition) -> Result<Vec<Account>, Failure> {
        let given = |user: &&User| {
            self == Self::Rabbit || !matches!(user.principal(), Principal::Person { .. })
        };
        let users = mesh.users().iter().filter(given);
        let accounts = users.filter_map(|user| self.name(user).map(|name| (name, user)));
        accounts
            .map(|(name, user)| {
                let name = UserName::new(name);
                let name = name.map_err(|error| {
                    Failure::new(error.to_string(), "this is a mistake of ours")
                })?;
                Ok(Account { name, principal: user.principal().clone() })
            })
            .collect()
    }

    /// What a user is called where it logs in; nothing where it doesn't.
    fn name(self, user: &User) -> Option<String> {
        match (self, user.principal()) {
            (Self::Nats, _) => Some(user.name().to_owned()),
            // One controller, and gateways elsewhere.
            (Self::Rabbit, Principal::Controller { .. }) => {
                (user.name() == "controller").then(|| SUBSTRATE.to_owned())
            }
            (Self::Rabbit, Principal::Gateway { .. }) => None,
            (Self::Rabbit, principal) => Some(principal.amqp_user()),
        }
    }

    /// The file's text.
    pub(super) fn text(
        self,
        mesh: &Composition,
        store: &SecretStore,
        vhost: &str,
    ) -> Result<Text, Failure> {
        match self {
            Self::Nats => match mesh.nats(store, &Place::default()) {
                Ok(text) => Ok(Text::Whole(text)),
                Err(ComposeError::NoVerifier(users)) => Ok(Text::Without(users)),
                Err(error) => Err(uncomposed(&error)),
            },
            Self::Rabbit => {
                let hash = |user: &str| {
                    let name = self.name(mesh.user(user)?)?;
                    match &store.record(&name)?.kept {
                        Kept::Rabbit(hash) => PasswordHash::new(hash.as_str()).ok(),
                        _ => None,
                    }
                };
                match mesh.rabbit(vhost, &hash) {
                    Ok(definitions) => Ok(Text::Whole(definitions.text())),
                    Err(RabbitError::NoHash(users)) => {
                        let names = users.iter().filter_map(|user| self.name(mesh.user(user)?));
                        Ok(Text::Without(names.collect()))
                    }
                    Err(error) => {
                        let hint = "change what the mesh file says of it, or --vhost";
                        Err(Failure::new(error.to_string(), hint))
                    }
                }
            }
        }
    }
}

/// What a principal's user is called in a composition.
fn here(principal: &Principal) -> String {
    match principal {
        Principal::Controller { .. } => "controller".to_owned(),
        principal => {
            let (kind, name) = principal.inbox_tokens();
            format!("{kind}.{name}")
        }
    }
}

fn uncomposed(error: &ComposeError) -> Failure {
    let hint = match error {
        ComposeError::Verifier { .. } => {
            "a store is for one broker: name another, or move the user's file away and mint again"
        }
        _ => "change what the mesh file says of it",
    };
    Failure::new(error.to_string(), hint)
}
