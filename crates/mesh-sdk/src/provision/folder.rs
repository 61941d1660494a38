//! The folder with what a module was given, as its host keeps it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use mesh_core::name::ProvisionName;
use mesh_core::provision::Handover;

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
/// Those of the file system. What was there before then still is.
pub fn write(folder: &Path, handover: &Handover) -> io::Result<()> {
    let provision = &handover.key().provision;
    // No provision's name begins with a dot, so this is nobody's document.
    let new = folder.join(format!(".{provision}.json.new"));
    remove_file(&new)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut document = options.open(&new)?;
    document.write_all(handover.encode().as_bytes())?;
    document.sync_all()?;
    fs::rename(&new, file(folder, provision))?;
    sync(folder)
}

/// Takes a credential out of the folder of its consumer, where it is there.
///
/// # Errors
/// Those of the file system.
pub fn remove(folder: &Path, provision: &ProvisionName) -> io::Result<()> {
    remove_file(&file(folder, provision))?;
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
