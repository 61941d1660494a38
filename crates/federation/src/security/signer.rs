use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Header;
use mesh_core::json::RawJson;
use mesh_core::mx::Envelope;
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use rustls_pki_types::PrivatePkcs8KeyDer;
use rustls_pki_types::pem::PemObject as _;

use super::claims::{Bound, Claims};
use super::keys::MAX_KID_BYTES;
use super::{Algorithm, token};
use crate::{Sign, SignError};

/// Proves for a realm that its messages are its own: fills `auth` (protocol §8, MXSEC/1).
///
/// `Debug` shows the realm and the key's id, never the key.
///
/// ```
/// use mesh_core::mx::{Address, Envelope, MsgType, MxPath, MxRealm, Party};
/// use mesh_core::name::RealmName;
/// use mesh_core::time::Timestamp;
/// use mesh_federation::security::{Algorithm, Signer, generate};
///
/// let made = generate(Algorithm::EdDsa)?;
/// let signer = Signer::eddsa_pem(RealmName::new("shop")?, made.kid(), made.pem())?;
///
/// let to = Address::new(MxRealm::new("acme.com")?, MxPath::new("mail.accepts.send")?);
/// let mut envelope = Envelope::new(MsgType::Cmd, Party::new(MxRealm::new("shop")?, None), to);
/// envelope.msg_id = Some("m-1".into());
/// signer.seal(&mut envelope, Timestamp::from_millis(1_700_000_000_000))?;
/// assert!(envelope.auth.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Signer {
    realm: RealmName,
    kid: String,
    key: Private,
    random: SystemRandom,
    lifetime: u64,
}

enum Private {
    EdDsa(Ed25519KeyPair),
    Es256(EcdsaKeyPair),
}

/// Why a text is no key to sign with. It never holds the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignerError {
    /// There is no `PRIVATE KEY` (PKCS#8) in the PEM.
    #[error("no PKCS#8 private key in the PEM")]
    Pem,
    /// The key is not of this algorithm, or damaged.
    #[error("not a private key for {0}")]
    Key(Algorithm),
    /// The key's id is empty or longer than 128 bytes.
    #[error("a key's id has 1 to {MAX_KID_BYTES} bytes")]
    KeyId,
}

/// Why an envelope was not signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// It comes from another realm than the signer's.
    #[error("the envelope is of another realm than the key")]
    Realm,
    /// It has no `msgId` to bind the token to.
    #[error("an envelope without a msgId can't be signed")]
    MessageId,
    /// The key did not sign.
    #[error("signing failed")]
    Signing,
}

impl Signer {
    /// A signer with an Ed25519 key, PKCS#8 in PEM; tokens are good for a minute.
    ///
    /// # Errors
    /// [`SignerError`].
    pub fn eddsa_pem(
        realm: RealmName,
        kid: impl Into<String>,
        pem: &str,
    ) -> Result<Self, SignerError> {
        let der = pkcs8(pem)?;
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der.secret_pkcs8_der())
            .map_err(|_| SignerError::Key(Algorithm::EdDsa))?;
        Self::new(realm, kid.into(), Private::EdDsa(key))
    }

    /// A signer with a P-256 key, PKCS#8 in PEM; tokens are good for a minute.
    ///
    /// # Errors
    /// [`SignerError`].
    pub fn es256_pem(
        realm: RealmName,
        kid: impl Into<String>,
        pem: &str,
    ) -> Result<Self, SignerError> {
        let der = pkcs8(pem)?;
        let key = EcdsaKeyPair::from_pkcs8(
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            der.secret_pkcs8_der(),
            &SystemRandom::new(),
        )
        .map_err(|_| SignerError::Key(Algorithm::Es256))?;
        Self::new(realm, kid.into(), Private::Es256(key))
    }

    fn new(realm: RealmName, kid: String, key: Private) -> Result<Self, SignerError> {
        if !(1..=MAX_KID_BYTES).contains(&kid.len()) {
            return Err(SignerError::KeyId);
        }
        Ok(Self { realm, kid, key, random: SystemRandom::new(), lifetime: 60 })
    }

    /// Makes tokens that are good for so long: whole seconds, 1 s at least and 4 minutes at most.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime.as_secs().clamp(1, 240);
        self
    }

    /// The realm that it signs for.
    #[must_use]
    pub const fn realm(&self) -> &RealmName {
        &self.realm
    }

    /// How it signs.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match self.key {
            Private::EdDsa(_) => Algorithm::EdDsa,
            Private::Es256(_) => Algorithm::Es256,
        }
    }

    /// Puts a token into `auth`, over whatever stood there. Do it last: what the token binds (type, paths,
    /// `replyTo`, `msgId`, `correlationId`, `principal`, body and error) can't be changed after.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn seal(&self, envelope: &mut Envelope<'_>, now: Timestamp) -> Result<(), SealError> {
        envelope.auth = Some(self.token(envelope, now)?);
        Ok(())
    }

    /// The token for `envelope`, which is otherwise ready to be sent: what goes into `auth`.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn token(
        &self,
        envelope: &Envelope<'_>,
        now: Timestamp,
    ) -> Result<RawJson<'static>, SealError> {
        if envelope.from.realm != self.realm {
            return Err(SealError::Realm);
        }
        let iat = u64::try_from(now.as_millis()).unwrap_or(0) / 1000;
        let claims = Claims {
            iss: self.realm.as_str().into(),
            aud: envelope.to.realm.as_str().into(),
            jti: envelope.msg_id.as_deref().ok_or(SealError::MessageId)?.into(),
            iat,
            nbf: None,
            exp: iat.saturating_add(self.lifetime),
            mx: Bound::of(envelope),
        };
        Ok(RawJson::string(&self.compact(&self.header(), &claims)?))
    }

    pub(super) fn header(&self) -> Header {
        let mut header = Header::new(match self.algorithm() {
            Algorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
            Algorithm::Es256 => jsonwebtoken::Algorithm::ES256,
        });
        header.typ = Some(token::TYPE.to_owned());
        header.kid = Some(self.kid.clone());
        header
    }

    /// A token of this header and these claims.
    pub(super) fn compact(
        &self,
        header: &impl serde::Serialize,
        claims: &impl serde::Serialize,
    ) -> Result<String, SealError> {
        let part = |bytes: Result<Vec<u8>, _>| {
            bytes.map(|bytes| URL_SAFE_NO_PAD.encode(bytes)).map_err(|_| SealError::Signing)
        };
        let header = part(serde_json::to_vec(header))?;
        let claims = part(serde_json::to_vec(claims))?;
        let message = format!("{header}.{claims}");
        let signature = match &self.key {
            Private::EdDsa(key) => URL_SAFE_NO_PAD.encode(key.sign(message.as_bytes())),
            Private::Es256(key) => {
                let signature = key.sign(&self.random, message.as_bytes());
                URL_SAFE_NO_PAD.encode(signature.map_err(|_| SealError::Signing)?)
            }
        };
        Ok(format!("{message}.{signature}"))
    }
}

impl Sign for Signer {
    fn sign(&self, envelope: &Envelope<'_>, now: Timestamp) -> Result<RawJson<'static>, SignError> {
        self.token(envelope, now).map_err(SignError::new)
    }
}

fn pkcs8(pem: &str) -> Result<PrivatePkcs8KeyDer<'static>, SignerError> {
    PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| SignerError::Pem)
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("realm", &self.realm)
            .field("kid", &self.kid)
            .field("algorithm", &self.algorithm())
            .finish_non_exhaustive()
    }
}
