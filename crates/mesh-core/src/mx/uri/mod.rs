//! MXURI/1: one command or event of one realm as a URI (protocol §8).
//!
//! ```text
//! matrix://acme.com/project/daemon.project.accepts.scan      compact
//! matrix://acme.com/project/-/daemon/project/accepts/scan    segmented
//! ──┬───   ───┬──── ───┬─── ──────┬─────── ───┬─── ──┬─
//!  scheme    realm   mounts   component     plane  message
//! ```
//!
//! The first segment that is a bare `-` makes it segmented; a mount that is literally `-` is
//! written `%2D`. Escapes are read after the text is split. Both forms are the same value.
//!
//! ```
//! use mesh_core::mx::MxUri;
//!
//! let compact = MxUri::parse("matrix://acme.com/project/daemon.project.accepts.scan")?;
//! let segmented = MxUri::parse("MATRIX://acme.com/project/-/daemon/project/accepts/scan")?;
//! assert_eq!(compact, segmented);
//! assert_eq!(segmented.to_string(), "matrix://acme.com/project/daemon.project.accepts.scan");
//!
//! let error = MxUri::parse("matrix://acme.com:80/a.accepts.b").unwrap_err();
//! assert_eq!(error.to_string(), "MXURI: port at offset 17");
//! # Ok::<(), mesh_core::mx::UriError>(())
//! ```

mod authority;
mod compact;
mod error;
mod pieces;
mod print;
mod scheme;
mod segmented;

#[cfg(test)]
mod tests;

pub use error::{UriError, UriProblem};

use super::{MxPath, MxRealm};

/// A parsed MXURI. Borrows its text where it is compact and holds no escapes.
///
/// Equal when realm, mounts, component, plane and message are. `Display` prints the compact form;
/// every value has one, for component labels and messages never hold a dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MxUri<'a> {
    realm: MxRealm<'a>,
    path: MxPath<'a>,
}

impl<'a> MxUri<'a> {
    /// The URI of `path` in `realm`.
    #[must_use]
    pub fn new(realm: impl Into<MxRealm<'a>>, path: MxPath<'a>) -> Self {
        let realm = realm.into();
        Self { realm, path }
    }

    /// Parses `text`, compact or segmented.
    ///
    /// # Errors
    /// [`UriError`] with the problem and its byte offset in `text`.
    pub fn parse(text: &'a str) -> Result<Self, UriError> {
        let start = scheme::skip(text)?;
        // Most say nothing that has to be decoded, put together or explained.
        let (realm, segments) = match MxRealm::in_uri(&text[start..]) {
            Some(realm) => {
                let segments = start + realm.as_str().len() + 1;
                (realm, segments)
            }
            None => authority::realm(text, start)?,
        };
        if let Some(path) = MxPath::in_uri(&text[segments..]) {
            return Ok(Self { realm, path });
        }
        let path = match segmented::delimiter(text, segments) {
            Some(delimiter) => segmented::path(text, segments, delimiter)?,
            None => compact::path(text, segments)?,
        };
        Ok(Self { realm, path })
    }

    /// The realm.
    #[must_use]
    pub fn realm(&self) -> &MxRealm<'a> {
        &self.realm
    }

    /// The path: mounts, component, plane and message.
    #[must_use]
    pub fn path(&self) -> &MxPath<'a> {
        &self.path
    }

    /// The URI without a borrow.
    #[must_use]
    pub fn into_owned(self) -> MxUri<'static> {
        MxUri { realm: self.realm.into_owned(), path: self.path.into_owned() }
    }
}

impl std::str::FromStr for MxUri<'static> {
    type Err = UriError;
    fn from_str(text: &str) -> Result<Self, UriError> {
        MxUri::parse(text).map(MxUri::into_owned)
    }
}
