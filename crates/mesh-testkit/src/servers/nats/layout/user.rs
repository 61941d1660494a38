use std::fmt::{self, Display};

use mesh_core::credential::Secret;
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use ring::rand::{SecureRandom, SystemRandom};

use crate::servers::ServerError;

/// The accounts of a mesh's server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Account {
    /// Has the streams, and the controller.
    Bus,
    /// Has everybody else: tools, asks and answers stay in it.
    Edge,
    /// Has everybody and everything, where nothing is split.
    Mesh,
    /// Has gateways of realms, and nothing of the mesh. It is written only where it has users.
    Backbone,
    /// Has what the gateways of one realm share, and nobody else: the realm's number. It is written only
    /// where it has users.
    State(u16),
    /// Is the bus inside a realm, of the realm of this number, and has nothing else. It is written only
    /// where it has users.
    Realm(u8),
}

impl Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bus => f.write_str("BUS"),
            Self::Edge => f.write_str("EDGE"),
            Self::Mesh => f.write_str("MESH"),
            Self::Backbone => f.write_str("BACKBONE"),
            Self::State(realm) => write!(f, "STATE_{realm}"),
            Self::Realm(number) => write!(f, "REALM{number}"),
        }
    }
}

/// A user of the server's. `Debug` hides the password.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct User {
    /// Where it is.
    pub account: Account,
    /// Who logs in as it.
    pub principal: Principal,
    /// What it may do.
    pub permissions: Permissions,
    name: String,
    password: Secret,
}

impl User {
    /// One with a password of its own, named after the tokens of its inbox: `mail.n1`.
    ///
    /// # Errors
    /// [`ServerError::Layout`], if the machine gives no randomness.
    pub fn new(
        account: Account,
        principal: Principal,
        permissions: Permissions,
    ) -> Result<Self, ServerError> {
        let (what, which) = principal.inbox_tokens();
        Self::named(format!("{what}.{which}"), account, principal, permissions)
    }

    /// The same under another name, of any characters.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn named(
        name: impl Into<String>,
        account: Account,
        principal: Principal,
        permissions: Permissions,
    ) -> Result<Self, ServerError> {
        Ok(Self { account, principal, permissions, name: name.into(), password: minted()? })
    }

    /// The name to log in with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The password.
    #[must_use]
    pub fn password(&self) -> &Secret {
        &self.password
    }
}

/// 128 random bits in hex.
fn minted() -> Result<Secret, ServerError> {
    let mut bytes = [0; 16];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| ServerError::layout("the machine gives no randomness"))?;
    Ok(Secret::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}
