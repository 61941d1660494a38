use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why something in a bus's folder could not be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FolderError {
    /// The machine refuses it.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried: `reading`, `writing`.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },

    /// It is longer than a server's file or a report can be.
    #[error("{}: it has more than {most} bytes", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        most: u64,
    },

    /// It is no text, or not of the shape that it should have.
    #[error("{}: {problem}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl FolderError {
    /// For `map_err`: names what was tried.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }
}
