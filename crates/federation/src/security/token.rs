//! A token that came in, step by step: its header, its claims against the envelope, its signature. Pure: no
//! keys are fetched here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Header, decode_header};
use mesh_core::json::{JsonKind, RawJson};
use mesh_core::mx::Envelope;
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;
use serde::Deserialize;

use super::claims::Claims;
use super::keys::{Key, MAX_KID_BYTES};
use super::{Algorithm, Keys, Lifetimes, Refused};

/// The most bytes of a token.
pub(super) const MAX_BYTES: usize = 4096;
/// What a token calls itself, so that one made for something else is none.
pub(super) const TYPE: &str = "mx+jwt";

/// A token whose header is in order.
#[derive(Debug)]
pub(super) struct Token<'t> {
    text: std::borrow::Cow<'t, str>,
    algorithm: Algorithm,
    kid: String,
}

/// Read before the rest, so that a wrong algorithm is told as that and not as a bad header.
#[derive(Deserialize)]
struct Alg {
    alg: String,
}

impl<'t> Token<'t> {
    /// Reads `auth`.
    pub(super) fn read(auth: &'t RawJson<'_>) -> Result<Self, Refused> {
        if auth.kind() != JsonKind::String {
            return Err(Refused::Malformed);
        }
        if auth.as_str().len() > MAX_BYTES {
            return Err(Refused::TooLong);
        }
        let text = auth.as_string().ok_or(Refused::Malformed)?;
        let (header, _) = text.split_once('.').ok_or(Refused::Malformed)?;
        let header = decoded(header)?;
        let Alg { alg } = serde_json::from_slice(&header).map_err(|_| Refused::Malformed)?;
        let algorithm = Algorithm::from_name(&alg).ok_or(Refused::Algorithm)?;
        let header = decode_header(text.as_bytes()).map_err(|_| Refused::Malformed)?;
        let kid = checked(header)?;
        Ok(Self { text, algorithm, kid })
    }

    /// Compares what it claims with `envelope`, received at `now` in the realm `local`.
    ///
    /// This comes before the signature, which costs more: a token that would be refused anyway makes nobody
    /// fetch a key. What it says counts only once [`verify`](Self::verify) has passed.
    pub(super) fn check(
        &self,
        envelope: &Envelope<'_>,
        local: &RealmName,
        now: Timestamp,
        lifetimes: Lifetimes,
    ) -> Result<(), Refused> {
        let payload = self.text.split('.').nth(1).ok_or(Refused::Malformed)?;
        let payload = decoded(payload)?;
        let claims: Claims<'_> =
            serde_json::from_slice(&payload).map_err(|_| Refused::Malformed)?;
        if claims.iss != envelope.from.realm.as_str() {
            return Err(Refused::Issuer);
        }
        if claims.aud != local.as_str() {
            return Err(Refused::Audience);
        }
        if Some(claims.jti.as_ref()) != envelope.msg_id.as_deref() {
            return Err(Refused::MessageId);
        }
        lifetimes.check(&claims, now)?;
        claims.mx.check(envelope)
    }

    /// The key that it names.
    pub(super) fn key<'k>(&self, keys: &'k Keys) -> Result<&'k Key, Refused> {
        keys.find(&self.kid).ok_or(Refused::UnknownKey)
    }

    /// Checks the signature.
    pub(super) fn verify(&self, key: &Key) -> Result<(), Refused> {
        // The algorithm is the key's; the header can only agree.
        if key.algorithm != self.algorithm {
            return Err(Refused::KeyType);
        }
        let (message, signature) = self.text.rsplit_once('.').ok_or(Refused::Malformed)?;
        let signature = decoded(signature)?;
        if key.algorithm.verifies(&key.point, message.as_bytes(), &signature) {
            Ok(())
        } else {
            Err(Refused::Signature)
        }
    }
}

/// The key's id from a header that has nothing it may not have.
fn checked(header: Header) -> Result<String, Refused> {
    let foreign = [&header.jku, &header.x5u, &header.x5t, &header.x5t_s256];
    if header.jwk.is_some() || header.x5c.is_some() || foreign.iter().any(|field| field.is_some()) {
        return Err(Refused::ForeignKey);
    }
    let b64 = header.extras.inner().contains_key("b64");
    if header.crit.is_some() || header.enc.is_some() || header.zip.is_some() || b64 {
        return Err(Refused::Critical);
    }
    if header.typ.as_deref() != Some(TYPE) {
        return Err(Refused::Type);
    }
    header.kid.filter(|kid| (1..=MAX_KID_BYTES).contains(&kid.len())).ok_or(Refused::KeyId)
}

fn decoded(part: &str) -> Result<Vec<u8>, Refused> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| Refused::Malformed)
}
