//! The folder with what a module was given, as its host keeps it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use mesh_core::name::ProvisionName;
use mesh_core::provision::{Handover, MAX_HANDOVER_BYTES};

/// Where a provision's document is.
pub(super) fn file(folder: &Path, provision: &ProvisionName) -> PathBuf {
    folder.join(format!("{provision}.json"))
}

/// Puts a credential into the folder of its consumer, where it takes the place of an earlier one. For the
/// host of its node, which alone writes there.
///
/// The file is moved there whole and is on the disk when this returns. On Unix its owner alone may read it:
/// that is whoever calls this.
///
/// # Errors
/// Those of the file system, and `InvalidInput` where it is longer than [`MAX_HANDOVER_BYTES`]. What was
/// there before then still is.
pub fn write(folder: &Path, handover: &Handover) -> io::Result<()> {
    let provision = &handover.key().provision;
    let document = handover.encode();
    let (bytes, most) = (document.as_bytes().len(), MAX_HANDOVER_BYTES);
    if bytes > most {
        let why = format!("{provision}: {bytes} bytes, and at most {most} are read");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let new = new_file(folder, provision);
    remove_file(&new)?;
    let written = write_new(&new, document.as_bytes());
    if let Err(error) = written.and_then(|()| fs::rename(&new, file(folder, provision))) {
        // It may be there by half, secrets and all. Why it was not written is what is told.
        let _ = remove_file(&new);
        return Err(error);
    }
    sync(folder)
}

/// Where a document is while it is written. No provision's name begins with a dot, so it is nobody's.
fn new_file(folder: &Path, provision: &ProvisionName) -> PathBuf {
    folder.join(format!(".{provision}.json.new"))
}

fn write_new(new: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut document = options.open(new)?;
    document.write_all(bytes)?;
    document.sync_all()
}

/// Takes a credential out of the folder of its consumer, where it is there, and what a [`write()`] that was
/// cut off has left of one.
///
/// # Errors
/// Those of the file system.
pub fn remove(folder: &Path, provision: &ProvisionName) -> io::Result<()> {
    remove_file(&file(folder, provision))?;
    remove_file(&new_file(folder, provision))?;
    sync(folder)
}

fn remove_file(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Brings to the disk which files are there. Elsewhere than on Unix a folder can't be opened for that.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
