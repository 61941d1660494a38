use std::sync::Arc;

use mesh_core::credential::{Fingerprint, Fingerprints};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use sha2::{Digest, Sha256};

use crate::{Refusal, Refusals};

/// Accepts a server that presents a pinned certificate and holds its key, and no other.
///
/// The sha256 of the leaf's DER must be pinned. Chain, name, expiry and stapled answers are not
/// looked at. The handshake's signature is verified by rustls' own functions: without that, whoever
/// has a copy of the certificate, which is public, could stand in for the server.
#[derive(Debug)]
pub struct PinnedVerifier {
    pinned: Fingerprints,
    algorithms: WebPkiSupportedAlgorithms,
    refusals: Refusals,
}

impl PinnedVerifier {
    /// Signatures are verified with the algorithms of `provider`.
    #[must_use]
    pub fn new(pinned: Fingerprints, provider: &CryptoProvider) -> Self {
        Self {
            pinned,
            algorithms: provider.signature_verification_algorithms,
            refusals: Refusals::default(),
        }
    }

    /// What became of the last handshake.
    #[must_use]
    pub fn refusals(&self) -> Refusals {
        self.refusals.clone()
    }

    /// The last refusal, `None` if the last server was accepted.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusals.last()
    }

    fn signed(
        &self,
        cert: &CertificateDer<'_>,
        verified: Result<HandshakeSignatureValid, Error>,
    ) -> Result<HandshakeSignatureValid, Error> {
        verified.inspect_err(|reason| {
            let presented = fingerprint(cert);
            self.refusals.refuse(Refusal::Signature { presented, reason: reason.clone() });
        })
    }
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let presented = fingerprint(end_entity);
        self.refusals.present(presented);
        if self.pinned.contains(&presented) {
            return Ok(ServerCertVerified::assertion());
        }
        let refusal = Refusal::Fingerprint { presented, pinned: self.pinned.clone() };
        self.refusals.refuse(refusal.clone());
        Err(Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(refusal)))))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(cert, verify_tls12_signature(message, cert, dss, &self.algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(cert, verify_tls13_signature(message, cert, dss, &self.algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    Fingerprint::from_bytes(Sha256::digest(certificate).into())
}
