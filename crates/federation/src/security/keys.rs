use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use serde::Deserialize;
use serde_json::Value;

use super::Algorithm;

/// The most keys of a realm, and the most bytes of a key's id.
const MAX_KEYS: usize = 32;
pub(super) const MAX_KID_BYTES: usize = 128;

/// A realm's public keys, by id: the part of its JWKS (RFC 7517) that MXSEC/1 can use.
///
/// A key is used if it has a `kid` of 1–128 bytes, is an Ed25519 key (`OKP`) or a P-256 key (`EC`), and what
/// it says of its use (`use`, `key_ops`, `alg`) is verifying signatures of that algorithm. Other keys are not
/// an error: they are left out.
///
/// ```
/// use mesh_federation::security::{Algorithm, Keys, generate};
///
/// let made = generate(Algorithm::EdDsa)?;
/// let keys = Keys::from_jwks(&format!(r#"{{"keys":[{}]}}"#, made.jwk()))?;
/// assert_eq!(keys.ids().collect::<Vec<_>>(), [made.kid()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Keys(Vec<Key>);

#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    kid: String,
    pub(super) algorithm: Algorithm,
    /// As ring takes it: 32 bytes of Ed25519, or `04 ‖ x ‖ y`.
    pub(super) point: Vec<u8>,
}

/// Why a text is no set of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeysError {
    /// It is not `{"keys": […]}`.
    #[error("JWKS: not an object with a list of keys")]
    Shape,
    /// There are more than 32.
    #[error("JWKS: more than {MAX_KEYS} keys")]
    TooMany,
    /// Two usable keys have one id: which of them is meant could not be told.
    #[error("JWKS: two keys have the same `kid`")]
    Duplicate,
    /// A key holds what only its owner may know. Whoever publishes that has to make a new key.
    #[error("JWKS: a private or shared key has been published")]
    Secret,
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

impl Keys {
    /// Reads a JWKS.
    ///
    /// # Errors
    /// [`KeysError`].
    pub fn from_jwks(text: &str) -> Result<Self, KeysError> {
        let set: Set = serde_json::from_str(text).map_err(|_| KeysError::Shape)?;
        if set.keys.len() > MAX_KEYS {
            return Err(KeysError::TooMany);
        }
        let mut keys: Vec<Key> = Vec::with_capacity(set.keys.len());
        for value in set.keys {
            // `d` of every private kind, `k` of a shared one.
            if value.get("d").is_some() || value.get("k").is_some() {
                return Err(KeysError::Secret);
            }
            // What this version can't read may be there for others.
            let Some(key) = serde_json::from_value(value).ok().and_then(|jwk| Key::of(&jwk)) else {
                continue;
            };
            if keys.iter().any(|other| other.kid == key.kid) {
                return Err(KeysError::Duplicate);
            }
            keys.push(key);
        }
        Ok(Self(keys))
    }

    /// The ids of the usable keys.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|key| key.kid.as_str())
    }

    pub(super) fn find(&self, kid: &str) -> Option<&Key> {
        self.0.iter().find(|key| key.kid == kid)
    }
}

impl Key {
    fn of(jwk: &Jwk) -> Option<Self> {
        let common = &jwk.common;
        let kid = common.key_id.clone().filter(|kid| (1..=MAX_KID_BYTES).contains(&kid.len()))?;
        if common.public_key_use.as_ref().is_some_and(|of| *of != PublicKeyUse::Signature) {
            return None;
        }
        let verifies = |of: &Vec<KeyOperations>| of.contains(&KeyOperations::Verify);
        if !common.key_operations.as_ref().is_none_or(verifies) {
            return None;
        }
        let coordinate =
            |text: &str| URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| bytes.len() == 32);
        let (algorithm, point) = match &jwk.algorithm {
            AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
                (Algorithm::EdDsa, coordinate(&pair.x)?)
            }
            AlgorithmParameters::EllipticCurve(curve) if curve.curve == EllipticCurve::P256 => {
                let uncompressed = [vec![4], coordinate(&curve.x)?, coordinate(&curve.y)?];
                (Algorithm::Es256, uncompressed.concat())
            }
            _ => return None,
        };
        if common.key_algorithm.is_some_and(|of| of.to_string() != algorithm.as_str()) {
            return None;
        }
        Some(Self { kid, algorithm, point })
    }
}

/// Ids and algorithms.
impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|key| (&key.kid, key.algorithm))).finish()
    }
}
