use std::fmt;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use mesh_core::credential::{Credential, CredentialError, Login, Secret};
use mesh_core::identity::Principal;
use mesh_core::manifest::{Bus, SecretKind};
use mesh_core::name::UserName;
use rand::TryRngCore as _;
use rand::rngs::OsRng;
use sha2::{Digest as _, Sha256};

use super::{Endpoint, Kept, MintError};

/// How a user will prove itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// A password, kept as a bcrypt hash.
    Bcrypt {
        /// 4 to 31: the logarithm of the rounds. A nats-server pays it for each log-in, and at a reload for each
        /// live connection again (protocol §4).
        cost: u32,
    },
    /// A key of the NATS kind: the server has the public half alone.
    NKey,
    /// A password, kept as RabbitMQ's salted hash.
    Rabbit,
}

impl Method {
    /// What a mesh file asks for.
    #[must_use]
    pub fn of(bus: &Bus) -> Self {
        match bus.secrets {
            SecretKind::Bcrypt => Self::Bcrypt { cost: bus.bcrypt_cost.into() },
            SecretKind::NKey => Self::NKey,
        }
    }

    /// Whether what is kept came from this way, cost and all.
    #[must_use]
    pub fn made(&self, kept: &Kept) -> bool {
        match (self, kept) {
            (Self::Bcrypt { cost }, Kept::Bcrypt(_)) => kept.cost() == Some(*cost),
            (Self::NKey, Kept::NKey(_)) | (Self::Rabbit, Kept::Rabbit(_)) => true,
            _ => false,
        }
    }
}

/// A secret that was just made. It is nowhere else: who drops it has to mint another.
///
/// Of an NKey the user of the log-in is the public key (`U…`) and the password its seed (`SU…`), else the user's
/// name and a password of 256 random bits in 43 letters, digits, `-` and `_`. `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Minted {
    user: UserName,
    login: Login,
}

impl Minted {
    /// Whose.
    #[must_use]
    pub fn user(&self) -> &UserName {
        &self.user
    }

    /// What to log in with.
    #[must_use]
    pub fn login(&self) -> &Login {
        &self.login
    }

    /// The credential of `principal`, whose user this is, at `bus`.
    ///
    /// # Errors
    /// [`CredentialError`], where the bus is in this process and has no log-in.
    pub fn credential(
        &self,
        principal: &Principal,
        bus: &Endpoint,
    ) -> Result<Credential, CredentialError> {
        let url = bus.url.clone().with_login(self.login.clone());
        Credential::new(principal.clone(), url, bus.fingerprints.clone())
    }
}

impl fmt::Debug for Minted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Minted").field("user", &self.user).field("login", &self.login).finish()
    }
}

/// A new secret, and what is kept of it.
pub(super) fn mint(user: &UserName, method: Method) -> Result<(Minted, Kept), MintError> {
    let (name, secret, kept) = match method {
        Method::Bcrypt { cost } => {
            if !(4..=31).contains(&cost) {
                return Err(MintError::Cost(cost));
            }
            let password = password()?;
            let hash = bcrypt::hash_with_salt(&password, cost, random()?);
            let hash = hash.map_err(|_| MintError::Randomness)?;
            (user.as_str().to_owned(), password, Kept::Bcrypt(hash.to_string()))
        }
        Method::NKey => {
            let key = nkeys::KeyPair::new_from_raw(nkeys::KeyPairType::User, random()?);
            let key = key.map_err(|_| MintError::Randomness)?;
            let seed = key.seed().map_err(|_| MintError::Randomness)?;
            (key.public_key(), seed, Kept::NKey(key.public_key()))
        }
        Method::Rabbit => {
            let password = password()?;
            let salt: [u8; 4] = random()?;
            let hash = Sha256::new().chain_update(salt).chain_update(&password).finalize();
            let kept = BASE64_STANDARD.encode([&salt[..], &hash[..]].concat());
            (user.as_str().to_owned(), password, Kept::Rabbit(kept))
        }
    };
    // Neither is ever empty, or has a control character.
    let login = Login::new(name, Secret::new(secret)).map_err(|_| MintError::Randomness)?;
    Ok((Minted { user: user.clone(), login }, kept))
}

/// Nothing in it needs care in a URL or on a command line's right side; below the 72 bytes that bcrypt looks at.
fn password() -> Result<String, MintError> {
    Ok(BASE64_URL_SAFE_NO_PAD.encode(random::<32>()?))
}

pub(super) fn random<const N: usize>() -> Result<[u8; N], MintError> {
    let mut bytes = [0; N];
    OsRng.try_fill_bytes(&mut bytes).map_err(|_| MintError::Randomness)?;
    Ok(bytes)
}
