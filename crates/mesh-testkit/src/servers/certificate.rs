use std::fmt;

use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, date_time_ymd};
use ring::digest::{SHA256, digest};

use super::ServerError;

/// When a certificate holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Validity {
    /// Today, and for years.
    Current,
    /// Years ago.
    Expired,
    /// In years to come.
    NotYet,
}

/// A self-signed certificate with its key. `Debug` shows the fingerprint only.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    cert_pem: String,
    key_pem: String,
    der: Vec<u8>,
}

impl Certificate {
    /// One for `localhost` and `127.0.0.1` that holds today.
    ///
    /// # Errors
    /// [`ServerError::Certificate`], if the machine gives no randomness.
    pub fn local() -> Result<Self, ServerError> {
        Self::new(&["localhost", "127.0.0.1"], Validity::Current)
    }

    /// One for these host names or addresses.
    ///
    /// # Errors
    /// [`ServerError::Certificate`] for a name that no certificate can hold.
    pub fn new(names: &[&str], validity: Validity) -> Result<Self, ServerError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).map_err(told)?;
        let (from, until) = match validity {
            Validity::Current => (2001, 2121),
            Validity::Expired => (2001, 2002),
            Validity::NotYet => (2120, 2121),
        };
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = new_key()?;
        let made = params.self_signed(&key).map_err(told)?;
        Ok(Self { cert_pem: made.pem(), key_pem: key.serialize_pem(), der: made.der().to_vec() })
    }

    /// This very certificate with a key that is not its own: all that an impostor can show who copied
    /// the certificate. A real server refuses to start with it; [`FakeNats`](super::nats::FakeNats)
    /// does not.
    ///
    /// # Errors
    /// [`ServerError::Certificate`], if the machine gives no randomness.
    pub fn with_wrong_key(&self) -> Result<Self, ServerError> {
        Ok(Self { key_pem: new_key()?.serialize_pem(), ..self.clone() })
    }

    /// The certificate, PEM.
    #[must_use]
    pub fn cert_pem(&self) -> &str {
        &self.cert_pem
    }

    /// The private key, PKCS #8 in PEM.
    #[must_use]
    pub fn key_pem(&self) -> &str {
        &self.key_pem
    }

    /// The certificate, DER.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// SHA-256 of the DER, 64 lower-case hex digits: what a credential pins (protocol §5).
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.der)
    }
}

/// SHA-256 of a certificate's DER, 64 lower-case hex digits.
pub(crate) fn fingerprint(der: &[u8]) -> String {
    digest(&SHA256, der).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn new_key() -> Result<KeyPair, ServerError> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(told)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn told(error: rcgen::Error) -> ServerError {
    ServerError::Certificate(error.to_string())
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Certificate").field(&self.fingerprint()).finish()
    }
}
