use std::path::{Path, PathBuf};

use mesh_core::store::{StoreError, StoreErrorKind};
use rusqlite::ErrorCode;

/// Why a store was not opened. The file is as it was.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has it open, or another store of this one. Two modules of one process share a
    /// [`Store`](crate::Store); two processes have a file each.
    #[error("{}: open already, in another process or in this one", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{}: not a mesh store, and left as it is; name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A later version of this library has written it.
    #[error(
        "{}: written by a later version, in form {found}; this one knows form {known}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its form.
        found: i64,
        /// The latest form that is known here.
        known: i64,
    },
    /// What it holds is damaged. Moved away, it makes room for a new one, which knows of no event.
    #[error("{}: damaged, and left as it is; move it away to begin anew: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        source: StoreError,
    },
    /// It can't be made, read or written: a folder that is not there, a missing right, a full disk.
    #[error("{}: {source}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// Why.
        source: StoreError,
    },
}

impl OpenError {
    /// Of what the database says.
    pub(crate) fn of(path: &Path, error: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse { path },
            Some(ErrorCode::NotADatabase) => Self::Foreign { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path, source: store_error(error) },
            _ => Self::Failed { path, source: store_error(error) },
        }
    }

    pub(crate) fn failed(path: &Path, error: std::io::Error) -> Self {
        let source = StoreError::new(StoreErrorKind::Unavailable, error.to_string());
        Self::Failed { path: path.to_owned(), source: source.caused_by(error) }
    }
}

/// What the database says, as the port says it.
pub(crate) fn store_error(error: rusqlite::Error) -> StoreError {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreErrorKind::Full,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreErrorKind::Corrupt,
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::ReadOnly,
        ) => StoreErrorKind::Unavailable,
        _ => StoreErrorKind::Other,
    };
    StoreError::new(kind, error.to_string()).caused_by(error)
}
