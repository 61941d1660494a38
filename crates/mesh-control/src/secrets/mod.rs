//! Secrets of a mesh's users: minted, kept as what proves them, and sealed to who gets them (protocol §4, §5).
//!
//! A [`SecretStore`] is a folder with a file for each user. It keeps what a broker checks a log-in against, never
//! what is logged in with: that is in the [`Minted`] that minting gives, once. What becomes of it is a credential's
//! document, [sealed](seal) to its recipients' keys or [written](write_document) into a file that nobody else reads.
//!
//! ```
//! use mesh_control::secrets::{Endpoint, Identity, Method, SecretStore, open, seal};
//! use mesh_core::credential::Credential;
//! use mesh_core::identity::Principal;
//! use mesh_core::time::Timestamp;
//!
//! # let place = tempfile::tempdir()?;
//! # let folder = place.path().join("store");
//! let mut store = SecretStore::create(&folder, "the example")?;
//! let minted = store.mint(&"person.ada".parse()?, Method::Bcrypt { cost: 4 }, Timestamp::UNIX_EPOCH)?;
//! assert!(format!("{minted:?}").contains("[redacted]"));
//!
//! let bus = Endpoint { url: "tls://bus.example:4222".parse()?, fingerprints: "ab".repeat(32).parse::<mesh_core::credential::Fingerprint>()?.into() };
//! let ada = Principal::Person { name: "ada".parse()? };
//! let document = minted.credential(&ada, &bus)?.to_document()?;
//!
//! let key = Identity::generate();
//! let sealed = seal(&document, &[key.recipient()])?;
//! assert!(sealed.starts_with("-----BEGIN AGE ENCRYPTED FILE-----"));
//! store.handed_over(minted.user(), &[key.recipient()])?;
//!
//! let opened = open(sealed.as_bytes(), &key)?;
//! assert_eq!(Credential::parse(opened.expose())?.principal(), &ada);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod document;
mod endpoint;
mod error;
mod folder;
mod handing;
mod kept;
mod key;
mod lock;
mod mint;
mod record;
mod seal;
mod store;

#[cfg(test)]
mod tests;

pub use document::{Overwrite, Wrote, may_write, write_document};
pub use endpoint::{Endpoint, certificate_fingerprint};
pub use error::{
    DocumentError, FolderFault, HandOverError, KeyError, MintError, SealError, StoreError,
};
pub use handing::document_name;
pub use kept::Kept;
pub use key::{Identity, Recipient};
pub use mint::{Method, Minted};
pub use record::{Record, State};
pub use seal::{open, seal};
pub use store::{Damaged, SecretStore};
