//! A bus's folder, held by its supervisor.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::watch::identity;
use crate::folder::{BusFolder, FolderError, Links, opened, read_composed};
use crate::whole;

/// How often the lock is tried, and how long it is waited for in between.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(5);

/// The folder, with the lock that says that it is supervised.
pub(super) struct Place {
    bus: BusFolder,
    held: Option<Held>,
}

/// The lock, and which folder it is in.
type Held = (File, (u64, u64));

impl Place {
    /// Takes it; nothing if another supervisor has it.
    pub(super) fn hold(bus: BusFolder) -> Result<Option<Self>, FolderError> {
        let held = lock(&bus)?;
        Ok(held.map(|held| Self { bus, held: Some(held) }))
    }

    pub(super) fn bus(&self) -> &BusFolder {
        &self.bus
    }

    pub(super) fn path(&self) -> &Path {
        self.bus.path()
    }

    /// The file that the server reads: only ever one that was checked.
    pub(super) fn running_file(&self) -> PathBuf {
        self.path().join("running.conf")
    }

    /// The file that is checked.
    pub(super) fn candidate_file(&self) -> PathBuf {
        self.path().join(".candidate.conf")
    }

    /// The file that ran last, if there is one.
    pub(super) fn ran_last(&self) -> Option<Vec<u8>> {
        read_composed(&self.running_file()).ok().flatten()
    }

    /// Writes a file of the supervisor's own, for this user alone.
    pub(super) fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), FolderError> {
        whole::write(file, bytes, 0o600).map_err(FolderError::io("writing", file))
    }

    /// Takes the folder again if another one has taken its place; whether one has.
    pub(super) fn taken_again(&mut self) -> bool {
        let now = identity(self.path());
        if now.is_none() || now == self.held.as_ref().map(|(_, identity)| *identity) {
            return false;
        }
        // Nobody else has a new folder; and if somebody has, this server runs all the same.
        self.held = lock(&self.bus).ok().flatten();
        self.held.is_some()
    }
}

fn lock(bus: &BusFolder) -> Result<Option<Held>, FolderError> {
    let path = bus.lock_file();
    let failed = |error| FolderError::io("taking", &path)(error);
    let file = opened(&path, File::options().create(true).append(true), Links::Refuse);
    let file = file.map_err(failed)?;
    // Whoever asks whether the folder is supervised has the lock for an instant.
    for _ in 0..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Ok(()) => {
                let gone = || failed(io::ErrorKind::NotFound.into());
                return Ok(Some((file, identity(bus.path()).ok_or_else(gone)?)));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who may write in the folder had the supervisor make an empty file wherever it may.
    #[test]
    fn a_link_in_the_locks_place_makes_no_file_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        let (bus, elsewhere) = (BusFolder::at(place.path()), place.path().join("elsewhere"));
        std::os::unix::fs::symlink(&elsewhere, bus.lock_file()).unwrap();
        assert!(Place::hold(bus.clone()).is_err() && bus.is_supervised().is_err());
        assert!(!elsewhere.exists());
    }
}
