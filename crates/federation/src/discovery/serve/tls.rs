use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::ring::{default_provider, sign::any_supported_type};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// A server's certificate and key, in PEM: the chain, its own certificate first; the key as PKCS#8, PKCS#1
/// or SEC1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "two files")]
pub struct TlsFiles {
    /// The certificates.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Why a server does not begin, or keeps the certificate it has. It never holds what is in a key's file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A file can't be read.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file holds no certificate.
    #[error("{0}: no certificate in it, or one that can't be read")]
    Certificate(PathBuf),
    /// A file holds no private key, or one that is not supported.
    #[error("{0}: no private key in it, or one that can't be used")]
    Key(PathBuf),
    /// The key is not the certificate's.
    #[error("the key is not that of the certificate")]
    Pair,
    /// The address can't be listened at.
    #[error("can't listen: {0}")]
    Listen(#[source] io::Error),
    /// TLS could not be set up.
    #[error("TLS can't be set up")]
    Tls,
}

/// The certificate in use, and the files it came from.
pub(super) struct Certificate {
    files: TlsFiles,
    now: ArcSwap<Loaded>,
}

struct Loaded {
    /// The certificate's file: when it changes, both are read anew.
    text: (Vec<u8>, Vec<u8>),
    key: Arc<CertifiedKey>,
}

impl Certificate {
    pub(super) fn load(files: TlsFiles) -> Result<Self, ServeError> {
        let loaded = Loaded::read(&files)?;
        Ok(Self { files, now: ArcSwap::from_pointee(loaded) })
    }

    /// Reads the files again, and tells whether there was anything new in them. Where they can't be used, what
    /// is in use stays.
    pub(super) fn reload(&self) -> Result<bool, ServeError> {
        let text = (file(&self.files.certificate)?, file(&self.files.key)?);
        if self.now.load().text == text {
            return Ok(false);
        }
        self.now.store(Arc::new(Loaded::of(&self.files, text)?));
        Ok(true)
    }
}

impl Loaded {
    fn read(files: &TlsFiles) -> Result<Self, ServeError> {
        Self::of(files, (file(&files.certificate)?, file(&files.key)?))
    }

    fn of(files: &TlsFiles, text: (Vec<u8>, Vec<u8>)) -> Result<Self, ServeError> {
        let none = || ServeError::Certificate(files.certificate.clone());
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&text.0)
            .collect::<Result<_, _>>()
            .map_err(|_| none())?;
        if chain.is_empty() {
            return Err(none());
        }
        let unusable = || ServeError::Key(files.key.clone());
        let key = PrivateKeyDer::from_pem_slice(&text.1).map_err(|_| unusable())?;
        let key = any_supported_type(&key).map_err(|_| unusable())?;
        let key = CertifiedKey::new(chain, key);
        match key.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {
                Ok(Self { text, key: Arc::new(key) })
            }
            Err(_) => Err(ServeError::Pair),
        }
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.now.load().key))
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("files", &self.files).finish_non_exhaustive()
    }
}

/// TLS 1.2 and 1.3 by ring with this certificate, for HTTP/1.1.
pub(super) fn config(certificate: Arc<Certificate>) -> Result<rustls::ServerConfig, ServeError> {
    let mut config = rustls::ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| ServeError::Tls)?
        .with_no_client_auth()
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn file(path: &Path) -> Result<Vec<u8>, ServeError> {
    std::fs::read(path).map_err(|error| ServeError::File { path: path.to_owned(), error })
}
