//! Who a process is and how it reaches its broker (protocol §5).
//!
//! A [`Credential`] is scoped: it names its principal, and nothing else does. A [`Bootstrap`] is a
//! bare URL for the moment before a mesh can issue anything: another type, with no principal, so
//! nothing that needs an identity can be made from it. [`Document`] reads either; an
//! [`EnrolmentToken`] is what a new node is handed.
//!
//! Reading the file that `MESH_CREDENTIAL` names is the caller's. No password is ever shown by
//! `Debug`, `Display` or an error.
//!
//! ```
//! use mesh_core::credential::{BrokerUrl, Credential};
//!
//! let credential = Credential::parse(format!(
//!     r#"{{"url": "tls://n1_mail:p%40ss@bus.example", "fingerprint": "{}",
//!         "node": "n1", "module": "mail"}}"#,
//!     "ab".repeat(32),
//! ))?;
//! let BrokerUrl::Nats { server } = credential.url() else { panic!() };
//! let login = server.login().unwrap();
//! assert_eq!((login.user(), login.password().expose()), ("n1_mail", "p@ss"));
//! assert_eq!(server.port(), 4222);
//! assert!(format!("{credential:?}").contains("[redacted]"));
//! # Ok::<(), mesh_core::credential::CredentialError>(())
//! ```

mod document;
mod error;
mod fingerprint;
mod reader;
mod secret;
mod server;
mod token;
mod url;

#[cfg(test)]
mod tests;

pub use document::{Bootstrap, Credential, Document};
pub use error::{CredentialError, CredentialProblem};
pub use fingerprint::{Fingerprint, FingerprintError, FingerprintProblem, Fingerprints};
pub use secret::Secret;
pub use server::{Host, Login, Server, VirtualHost};
pub use token::{ControllerKey, EnrolmentToken};
pub use url::{BrokerUrl, UrlError, UrlProblem};

/// The largest credential document or enrolment token that is read, in bytes.
pub const MAX_DOCUMENT_BYTES: usize = 64 * 1024;
