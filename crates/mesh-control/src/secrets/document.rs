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
    let owned = || path.to_owned();
    let system = |source| DocumentError::System { path: owned(), source };
    if path.file_name().is_none() {
        return Err(DocumentError::NoName { path: owned() });
    }
    let document = document.expose().as_bytes();
    let most = document.len().max(MAX_DOCUMENT_BYTES);
    let wrote = match folder::read(path, most).map_err(system)? {
        Found::NoFile => return Err(DocumentError::NotAFile { path: owned() }),
        Found::File(bytes) if bytes == document => return Ok(Wrote::Same),
        Found::File(_) | Found::Exposed if overwrite == Overwrite::Never => {
            return Err(DocumentError::Exists { path: owned() });
        }
        Found::File(_) | Found::Exposed => {
            whole::write(path, document, PRIVATE_FILE).map_err(system)?;
            Wrote::Replaced
        }
        Found::Nothing => {
            let written = whole::write_new(path, document, PRIVATE_FILE);
            written.map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => DocumentError::Exists { path: owned() },
                _ => system(source),
            })?;
            Wrote::New
        }
    };
    Ok(wrote)
}
