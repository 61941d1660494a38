use mesh_core::credential::{BrokerUrl, Fingerprint, Fingerprints};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use sha2::{Digest as _, Sha256};

/// Where a bus is, for who is given a credential of it: its URL without a log-in, and the certificates that it may
/// present.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// `tls://host:port`, or `amqps://host:port/vhost`.
    pub url: BrokerUrl,
    /// Of the certificates.
    pub fingerprints: Fingerprints,
}

/// The fingerprint of the first certificate in a PEM file: the one that a server presents. Nothing, where there is
/// none.
#[must_use]
pub fn certificate_fingerprint(pem: &[u8]) -> Option<Fingerprint> {
    let certificate = CertificateDer::from_pem_slice(pem).ok()?;
    Some(Fingerprint::from_bytes(Sha256::digest(&certificate).into()))
}
