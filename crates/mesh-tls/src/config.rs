use std::sync::Arc;

use mesh_core::credential::Fingerprints;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::version::{TLS12, TLS13};

use crate::{PinnedVerifier, Refusals};

/// A client's TLS, and why its last server was refused.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Pinned {
    /// For a client that takes rustls' configuration.
    pub config: ClientConfig,
    /// Filled by the handshakes under that configuration.
    pub refusals: Refusals,
}

/// Why there is no configuration.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The crypto provider lacks what TLS 1.2 and 1.3 need: never with the one that is built in.
    #[error("no TLS with this crypto provider: {0}")]
    Provider(#[source] rustls::Error),
}

/// The TLS of a client that accepts a server with one of these certificates, and no other.
///
/// TLS 1.2 and 1.3 with ring, whatever other providers the program has; no resumption, since a
/// resumed session shows no certificate; no client certificate.
///
/// # Errors
/// [`TlsError`].
pub fn client_config(pinned: &Fingerprints) -> Result<Pinned, TlsError> {
    let provider = Arc::new(default_provider());
    let verifier = PinnedVerifier::new(pinned.clone(), &provider);
    let refusals = verifier.refusals();
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(TlsError::Provider)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(Pinned { config, refusals })
}
