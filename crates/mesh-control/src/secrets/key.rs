use std::fmt;

use age::secrecy::ExposeSecret as _;
use mesh_core::credential::Secret;

use super::KeyError;

/// Whom something is sealed to: the public half of an age key of X25519, `age1…`.
#[derive(Clone, PartialEq, Eq)]
pub struct Recipient(age::x25519::Recipient);

/// The secret half of an age key of X25519. `Debug` shows the public one.
#[derive(Clone)]
pub struct Identity(age::x25519::Identity);

impl Recipient {
    pub(super) fn inner(&self) -> &age::x25519::Recipient {
        &self.0
    }
}

impl std::str::FromStr for Recipient {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let secret =
            text.get(..SECRET.len()).is_some_and(|start| start.eq_ignore_ascii_case(SECRET));
        if secret {
            return Err(KeyError::Secret);
        }
        text.parse().map(Self).map_err(|_| KeyError::Recipient)
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipient({self})")
    }
}

const SECRET: &str = "AGE-SECRET-KEY-";

impl Identity {
    /// A new one, of the system's random bits.
    #[must_use]
    pub fn generate() -> Self {
        Self(age::x25519::Identity::generate())
    }

    /// Reads an identity file, as [`to_file`](Self::to_file) and `age-keygen` write it: one secret key in a line
    /// of its own, comments (`#`) and empty lines around it.
    ///
    /// # Errors
    /// [`KeyError`], with the line; nothing of the text is repeated.
    pub fn parse(file: &str) -> Result<Self, KeyError> {
        let mut found = None;
        for (index, line) in file.lines().enumerate() {
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let line = index + 1;
            let identity = text.parse().map_err(|_| KeyError::Line { line })?;
            if found.replace(Self(identity)).is_some() {
                return Err(KeyError::Several { line });
            }
        }
        found.ok_or(KeyError::Identity)
    }

    /// The public half.
    #[must_use]
    pub fn recipient(&self) -> Recipient {
        Recipient(self.0.to_public())
    }

    /// An identity file: the public half in a comment, and the secret key.
    #[must_use]
    pub fn to_file(&self) -> Secret {
        let secret = self.0.to_string();
        Secret::new(format!("# public key: {}\n{}\n", self.recipient(), secret.expose_secret()))
    }

    pub(super) fn inner(&self) -> &age::x25519::Identity {
        &self.0
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity(of {})", self.recipient())
    }
}
