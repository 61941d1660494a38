//! The folder of a store, and what stands under a path.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{Access, OFlags};

use super::FolderFault;

/// What secrets' files have, and nobody else may use.
pub(super) const PRIVATE_FILE: u32 = 0o600;
/// The bits of everybody else.
const OTHERS: u32 = 0o077;

/// What stands under a path.
#[derive(Debug)]
pub(super) enum Found {
    Nothing,
    /// A link, a folder, a pipe or the like.
    NoFile,
    File(Vec<u8>),
    /// A file that others may use.
    Exposed,
}

/// Makes a folder that is its owner's alone.
pub(super) fn create(path: &Path) -> Result<(), FolderFault> {
    DirBuilder::new().mode(0o700).create(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => FolderFault::Exists,
        _ => FolderFault::System(error),
    })
}

/// Checks that it is its owner's alone, and no link.
pub(super) fn check(path: &Path) -> Result<(), FolderFault> {
    let facts = fs::symlink_metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FolderFault::Absent,
        io::ErrorKind::NotADirectory => FolderFault::NotAFolder,
        _ => FolderFault::System(error),
    })?;
    if !facts.is_dir() {
        return Err(FolderFault::NotAFolder);
    }
    let (owner, user) = (facts.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        return Err(FolderFault::Foreign { owner, user });
    }
    let mode = facts.mode() & 0o7777;
    if mode & OTHERS != 0 {
        return Err(FolderFault::Open { mode });
    }
    Ok(())
}

/// Whether this user may put files into a folder.
pub(super) fn writable(path: &Path) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// What stands under `path`: of a file at most `most` bytes, and one more where it is longer.
pub(super) fn read(path: &Path, most: usize) -> io::Result<Found> {
    // Else a pipe would be waited for.
    let file = match opened(OpenOptions::new().read(true), OFlags::NONBLOCK, path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) if no_file(&error) => return Ok(Found::NoFile),
        Err(error) => return Err(error),
    };
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Ok(Found::NoFile);
    }
    if facts.mode() & OTHERS != 0 {
        return Ok(Found::Exposed);
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(Found::File(bytes))
}

/// A file for its owner alone, opened for reading and writing, made where it isn't there.
pub(super) fn own_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(PRIVATE_FILE);
    opened(&mut options, OFlags::empty(), path)
}

fn opened(options: &mut OpenOptions, flags: OFlags, path: &Path) -> io::Result<File> {
    let flags = flags.union(OFlags::NOFOLLOW).bits().cast_signed();
    options.custom_flags(flags).open(path)
}

/// A link, which is not followed, or a socket.
fn no_file(error: &io::Error) -> bool {
    let known = [rustix::io::Errno::LOOP, rustix::io::Errno::NXIO];
    error.raw_os_error().is_some_and(|code| known.iter().any(|known| known.raw_os_error() == code))
}
