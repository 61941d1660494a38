use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// What a broker checks a log-in against. The secret can't be had from it.
///
/// `Debug` shows the kind alone: a hash is nobody's business who may not read the store.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kept {
    /// A bcrypt hash in modular crypt format, 60 characters, for a nats-server.
    Bcrypt(String),
    /// The public key of a user (`U…`, 56 characters), for a nats-server.
    NKey(String),
    /// base64 of a salt of 4 bytes and SHA-256 over salt and password, for RabbitMQ (its default algorithm).
    Rabbit(String),
}

impl Kept {
    /// What the store's files and `mesh operator list` call it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Bcrypt(_) => "bcrypt",
            Self::NKey(_) => "nkey",
            Self::Rabbit(_) => "rabbit",
        }
    }

    /// As the broker's configuration has it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Bcrypt(text) | Self::NKey(text) | Self::Rabbit(text) => text,
        }
    }

    /// The cost of a bcrypt hash.
    #[must_use]
    pub fn cost(&self) -> Option<u32> {
        match self {
            Self::Bcrypt(hash) => Some(hash.parse::<bcrypt::HashParts>().ok()?.get_cost()),
            Self::NKey(_) | Self::Rabbit(_) => None,
        }
    }

    /// Nothing, where the text is none of that kind.
    pub(super) fn read(kind: &str, text: &str) -> Option<Self> {
        let text = text.to_owned();
        match kind {
            "bcrypt" if text.len() == 60 => {
                text.parse::<bcrypt::HashParts>().is_ok().then_some(Self::Bcrypt(text))
            }
            "nkey" if text.starts_with('U') => {
                nkeys::KeyPair::from_public_key(&text).is_ok().then_some(Self::NKey(text))
            }
            "rabbit" => {
                let bytes = BASE64_STANDARD.decode(&text).ok()?;
                (bytes.len() == 36).then_some(Self::Rabbit(text))
            }
            _ => None,
        }
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kept({})", self.kind())
    }
}
