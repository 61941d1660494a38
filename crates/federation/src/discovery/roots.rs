use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::SetupError;

/// Whose certificates are trusted.
#[derive(Debug, Clone)]
pub struct Roots {
    system: bool,
    pem: Vec<String>,
}

impl Roots {
    /// Those that the operating system trusts.
    #[must_use]
    pub const fn system() -> Self {
        Self { system: true, pem: Vec::new() }
    }

    /// These alone: certificates in PEM. For realms with an authority of their own.
    #[must_use]
    pub fn pem(text: impl Into<String>) -> Self {
        Self { system: false, pem: vec![text.into()] }
    }

    /// The same and these.
    #[must_use]
    pub fn and_pem(mut self, text: impl Into<String>) -> Self {
        self.pem.push(text.into());
        self
    }

    pub(super) fn store(&self) -> Result<RootCertStore, SetupError> {
        let mut store = RootCertStore::empty();
        if self.system {
            // Some of a system's certificates are often too old to be read.
            let _ = store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        for text in &self.pem {
            for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
                let certificate = certificate.map_err(|_| SetupError::Roots)?;
                store.add(certificate).map_err(|_| SetupError::Roots)?;
            }
        }
        if store.is_empty() { Err(SetupError::Roots) } else { Ok(store) }
    }
}

impl Default for Roots {
    fn default() -> Self {
        Self::system()
    }
}
