use std::fmt;

use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey, VerificationAlgorithm};

/// How a token is signed. There are these two and no others: nothing without a signature, and nothing whose
/// key can also sign for those who only verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// `EdDSA` with Ed25519 (RFC 8037).
    EdDsa,
    /// `ES256`: ECDSA with P-256 and SHA-256 (RFC 7518).
    Es256,
}

impl Algorithm {
    /// Both of them.
    pub const ALL: &[Self] = &[Self::EdDsa, Self::Es256];

    /// As it stands in `alg`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EdDsa => "EdDSA",
            Self::Es256 => "ES256",
        }
    }

    /// The algorithm of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|algorithm| algorithm.as_str() == name)
    }

    /// Whether `signature` over `message` was made with the private half of `point`.
    pub(super) fn verifies(self, point: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let algorithm: &'static dyn VerificationAlgorithm = match self {
            Self::EdDsa => &ED25519,
            Self::Es256 => &ECDSA_P256_SHA256_FIXED,
        };
        UnparsedPublicKey::new(algorithm, point).verify(message, signature).is_ok()
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
