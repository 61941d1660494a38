use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Survey;
use crate::folder::FolderError;
use crate::whole;

/// The folder in which a mesh's accounts wait to be included by a server's owner, and what the server was before.
/// Two files, and nothing of the owner's is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdoptionFolder {
    path: PathBuf,
}

impl AdoptionFolder {
    /// The folder at this path, which must be there: the owner's file includes from below its own.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The accounts, as the server's owner includes them: `mesh-accounts.conf`.
    #[must_use]
    pub fn accounts_file(&self) -> PathBuf {
        self.path.join("mesh-accounts.conf")
    }

    /// What the server told of itself before they came: `before-adoption.json`.
    #[must_use]
    pub fn survey_file(&self) -> PathBuf {
        self.path.join("before-adoption.json")
    }

    /// The line that the owner adds within `accounts { … }` of the server's file, if that is in this folder.
    #[must_use]
    pub fn line() -> &'static str {
        "include \"mesh-accounts.conf\""
    }

    /// Writes the accounts, whole. They hold hashes: the owner, and a group that could read them before, can.
    ///
    /// # Errors
    /// [`FolderError::Io`]; what was there before stays.
    pub fn write(&self, accounts: &str) -> Result<(), FolderError> {
        let file = self.accounts_file();
        let mode = mode(&file).map_or(0o600, |before| before & 0o040 | 0o600);
        whole::write(&file, accounts.as_bytes(), mode).map_err(FolderError::io("writing", &file))
    }

    /// Writes down what the server is now.
    ///
    /// # Errors
    /// [`FolderError::Io`].
    pub fn remember(&self, survey: &Survey) -> Result<(), FolderError> {
        let file = self.survey_file();
        serde_json::to_vec_pretty(survey)
            .map_err(io::Error::other)
            .and_then(|bytes| whole::write(&file, &bytes, 0o600))
            .map_err(FolderError::io("writing", &file))
    }

    /// What the server was; nothing, where nobody has looked before.
    ///
    /// # Errors
    /// [`FolderError`], also for a file that is none of these.
    pub fn remembered(&self) -> Result<Option<Survey>, FolderError> {
        let path = self.survey_file();
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(FolderError::io("reading", &path))?,
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| FolderError::Unreadable {
            path,
            problem: format!("not what a server told of itself: {error}"),
        })
    }
}

#[cfg(unix)]
fn mode(file: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(fs::metadata(file).ok()?.permissions().mode())
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}
