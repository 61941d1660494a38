use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};

use super::Algorithm;

/// A new key of a realm: the private half for [`Signer`](super::Signer), the public half for its JWKS.
///
/// `Debug` shows the id alone.
pub struct Generated {
    pem: String,
    jwk: String,
    kid: String,
}

/// No key was made: the system has no random bits, or the library refused its own key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no key could be made")]
#[non_exhaustive]
pub struct GenerateError;

impl From<ring::error::Unspecified> for GenerateError {
    fn from(_: ring::error::Unspecified) -> Self {
        Self
    }
}

impl From<ring::error::KeyRejected> for GenerateError {
    fn from(_: ring::error::KeyRejected) -> Self {
        Self
    }
}

/// Makes a key from the system's random bits.
///
/// # Errors
/// [`GenerateError`].
pub fn generate(algorithm: Algorithm) -> Result<Generated, GenerateError> {
    let random = SystemRandom::new();
    let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    // The members that a thumbprint is made of, in its order (RFC 7638).
    let (document, public) = match algorithm {
        Algorithm::EdDsa => {
            let document = Ed25519KeyPair::generate_pkcs8(&random)?;
            let pair = Ed25519KeyPair::from_pkcs8(document.as_ref())?;
            let x = encoded(pair.public_key().as_ref());
            (document, format!(r#""crv":"Ed25519","kty":"OKP","x":"{x}""#))
        }
        Algorithm::Es256 => {
            let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let document = EcdsaKeyPair::generate_pkcs8(kind, &random)?;
            let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random)?;
            // `04 ‖ x ‖ y`
            let point = pair.public_key().as_ref();
            let half = |from: usize| point.get(from..from + 32).map(encoded).ok_or(GenerateError);
            let (x, y) = (half(1)?, half(33)?);
            (document, format!(r#""crv":"P-256","kty":"EC","x":"{x}","y":"{y}""#))
        }
    };
    let kid = encoded(digest(&SHA256, format!("{{{public}}}").as_bytes()).as_ref());
    let jwk = format!(r#"{{{public},"alg":"{algorithm}","use":"sig","kid":"{kid}"}}"#);
    Ok(Generated { pem: pem(document.as_ref()), jwk, kid })
}

impl Generated {
    /// The private key, PKCS#8 in PEM. Keep it where only the gateway reads it.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The public key as a JWK: an element of the JWKS' `keys`.
    #[must_use]
    pub fn jwk(&self) -> &str {
        &self.jwk
    }

    /// The key's id: the thumbprint of the public key (RFC 7638).
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }
}

impl fmt::Debug for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generated").field("kid", &self.kid).finish_non_exhaustive()
    }
}

fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = String::from("-----BEGIN PRIVATE KEY-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem.push_str("-----END PRIVATE KEY-----\n");
    pem
}
