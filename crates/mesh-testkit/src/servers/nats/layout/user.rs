use mesh_control::compose::{Account, Verifier};
use mesh_core::credential::Secret;
use mesh_core::identity::Principal;
use mesh_core::permissions::Permissions;
use ring::rand::{SecureRandom, SystemRandom};

use crate::servers::ServerError;

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
    verifier: Verifier,
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
        let name = name.into();
        let password = minted()?;
        let verifier = hashed(&password)?;
        Ok(Self { account, principal, permissions, name, password, verifier })
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

    /// What the server's file holds of it.
    pub(super) fn verifier(&self) -> &Verifier {
        &self.verifier
    }
}

/// The cost of a composed file, the least that there is: a millisecond or two for each user.
const COST: u32 = 4;

fn hashed(password: &Secret) -> Result<Verifier, ServerError> {
    let hash = bcrypt::hash_with_salt(password.expose(), COST, random()?);
    let hash = hash.map_err(ServerError::layout)?.format_for_version(bcrypt::Version::TwoB);
    Verifier::bcrypt(&hash).map_err(ServerError::layout)
}

fn random() -> Result<[u8; 16], ServerError> {
    let mut bytes = [0; 16];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| ServerError::layout("the machine gives no randomness"))?;
    Ok(bytes)
}

/// 128 random bits in hex.
fn minted() -> Result<Secret, ServerError> {
    let bytes = random()?;
    Ok(Secret::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}
