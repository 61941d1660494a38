//! Files for who is given a credential.

use std::io;
use std::path::Path;

use mesh_core::credential::{MAX_DOCUMENT_BYTES, Secret};

use super::DocumentError;
use super::folder::{self, Found, PRIVATE_FILE};
use crate::whole;

/// What becomes of a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a third thing can't become of it")]
pub enum Overwrite {
    /// It stays, and nothing is written.
    Never,
    /// It is replaced.
    Replace,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrote {
    /// There was none.
    New,
    /// The same was there, for its owner alone.
    Same,
    /// Another was there.
    Replaced,
}

/// What stands where a document is to go.
enum There {
    Nothing,
    /// The same document, for its owner alone.
    Same,
    /// Another, which may be replaced.
    Other,
}

/// Says beforehand whether [`write_document`] will write there, so that nothing is minted that nobody can have. What
/// is there may change in between; it says so itself then.
///
/// # Errors
/// [`DocumentError`].
pub fn may_write(path: &Path, overwrite: Overwrite) -> Result<(), DocumentError> {
    there(path, None, overwrite)?;
    folder::writable(whole::folder_of(path))
        .map_err(|source| DocumentError::System { path: path.to_owned(), source })
}

/// Writes a credential's document, or what it was sealed into, for its owner alone: a file of mode 600 from the
/// moment that it exists, whole or not at all.
///
/// A link is neither followed nor replaced, whatever is asked for.
///
/// # Errors
/// [`DocumentError`], [`Exists`](DocumentError::Exists) where something else is there and `overwrite` says to leave
/// it. Nothing was written then.
pub fn write_document(
    path: &Path,
    document: &Secret,
    overwrite: Overwrite,
) -> Result<Wrote, DocumentError> {
    let system = |source| DocumentError::System { path: path.to_owned(), source };
    let document = document.expose().as_bytes();
    match there(path, Some(document), overwrite)? {
        There::Same => Ok(Wrote::Same),
        There::Other => {
            whole::write(path, document, PRIVATE_FILE).map_err(system)?;
            Ok(Wrote::Replaced)
        }
        There::Nothing => {
            let written = whole::write_new(path, document, PRIVATE_FILE);
            written.map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => DocumentError::Exists { path: path.to_owned() },
                _ => system(source),
            })?;
            Ok(Wrote::New)
        }
    }
}

/// `document` is what it would be, where that is known.
fn there(
    path: &Path,
    document: Option<&[u8]>,
    overwrite: Overwrite,
) -> Result<There, DocumentError> {
    let path = || path.to_owned();
    if path().file_name().is_none() {
        return Err(DocumentError::NoName { path: path() });
    }
    let most = document.map_or(0, <[u8]>::len).max(MAX_DOCUMENT_BYTES);
    let found = folder::read(&path(), most);
    match found.map_err(|source| DocumentError::System { path: path(), source })? {
        Found::Nothing => Ok(There::Nothing),
        Found::NoFile => Err(DocumentError::NotAFile { path: path() }),
        Found::File(bytes) if Some(&*bytes) == document => Ok(There::Same),
        Found::File(_) | Found::Exposed if overwrite == Overwrite::Replace => Ok(There::Other),
        Found::File(_) | Found::Exposed => Err(DocumentError::Exists { path: path() }),
    }
}
