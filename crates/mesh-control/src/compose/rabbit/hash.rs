use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What proves a user's password to RabbitMQ: base64 of a salt of 4 bytes, and of SHA-256 over that salt and the
/// password. It stands in definitions under `rabbit_password_hashing_sha256`.
///
/// A password itself is none: of 48 characters that are base64, it would have to be one by chance.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PasswordHash(String);

/// Why a text is no such hash. The text is not shown: it may be a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HashError {
    /// It is not the base64 of 36 bytes.
    #[error("not base64 of 36 bytes: a salt of 4 and a SHA-256")]
    Shape,
}

impl PasswordHash {
    /// How many bytes a salt has.
    pub const SALT: usize = 4;
    /// The name of the way of hashing, as definitions have it.
    pub const ALGORITHM: &'static str = "rabbit_password_hashing_sha256";

    /// A hash that was made before.
    ///
    /// # Errors
    /// [`HashError`] for anything else.
    pub fn new(text: impl Into<String>) -> Result<Self, HashError> {
        const BYTES: usize = PasswordHash::SALT + 32;
        let text = text.into();
        match STANDARD.decode(&text) {
            Ok(bytes) if bytes.len() == BYTES => Ok(Self(text)),
            _ => Err(HashError::Shape),
        }
    }

    /// Of a salt and of SHA-256 over salt and password, which somebody with a hash function has made.
    #[must_use]
    pub fn of(salt: [u8; Self::SALT], digest: [u8; 32]) -> Self {
        Self(STANDARD.encode([salt.as_slice(), &digest].concat()))
    }

    /// As definitions have it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What proves a password is no secret as such, and no reading either.
impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hash_is_one_and_it_is_not_shown() {
        // "test12" with the salt 908D C60A, from RabbitMQ's manual.
        let text = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR";
        let hash = PasswordHash::new(text).unwrap();
        assert_eq!(hash.as_str(), text);
        let bytes = STANDARD.decode(text).unwrap();
        let (salt, digest) = bytes.split_first_chunk().unwrap();
        assert_eq!(PasswordHash::of(*salt, digest.try_into().unwrap()), hash);
        assert!(!format!("{hash:?}").contains("kI3"));
        for other in ["", "secret", "$2a$04$abcdefghijklmnopqrstuv", &text[..44]] {
            let told = PasswordHash::new(other).unwrap_err().to_string();
            assert!(other.is_empty() || !told.contains(other), "{told}");
        }
    }
}
