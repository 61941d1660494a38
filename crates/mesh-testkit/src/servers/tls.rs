//! TLS for the raw client and the fake server, with ring named as its cryptography.

use std::fmt::Display;
use std::io;
use std::sync::Arc;

use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::Certificate;
use super::certificate::fingerprint;

/// Takes a server that shows the certificate of this fingerprint and has its key, and no other.
pub(crate) fn connector(pinned: &str) -> io::Result<TlsConnector> {
    let provider = Arc::new(ring::default_provider());
    let pin = Pin { pinned: pinned.to_ascii_lowercase(), provider: Arc::clone(&provider) };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pin))
        .with_no_client_auth();
    // A resumed session would not look at the certificate.
    config.resumption = Resumption::disabled();
    Ok(TlsConnector::from(Arc::new(config)))
}

#[derive(Debug)]
struct Pin {
    pinned: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = fingerprint(shown);
        if shown == self.pinned {
            return Ok(ServerCertVerified::assertion());
        }
        Err(Error::General(format!("the certificate is {shown}, not {}", self.pinned)))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Shows this certificate and signs with this key, whether they belong together or not.
pub(crate) fn acceptor(pair: &Certificate) -> io::Result<TlsAcceptor> {
    let provider = Arc::new(ring::default_provider());
    let key = PrivateKeyDer::from_pem_slice(pair.key_pem().as_bytes()).map_err(unusable)?;
    let key = provider.key_provider.load_private_key(key).map_err(unusable)?;
    let shown = CertifiedKey::new(vec![pair.der().to_vec().into()], key);
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Always(Arc::new(shown))));
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

fn unusable(error: impl Display) -> io::Error {
    io::Error::other(format!("the key can't be used: {error}"))
}
