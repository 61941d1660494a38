//! A file that is there whole or not at all.

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::path::{Component, Path};

use tempfile::NamedTempFile;

/// Puts a file with these bytes in the place of `path`: written beside it, flushed to the disk, and
/// renamed. Whoever reads it sees the old one or the new one, a power cut included. It never is
/// readable to more than `mode` says.
///
/// # Errors
/// What the machine refuses; the file before stays.
pub(crate) fn write(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let file = written(path, bytes, mode)?;
    file.persist(path).map_err(|error| error.error)?;
    sync(folder_of(path))
}

/// The same, where there is nothing at `path` yet: else it is [`AlreadyExists`](io::ErrorKind::AlreadyExists).
///
/// # Errors
/// What the machine refuses.
#[cfg(all(feature = "secrets", unix))]
pub(crate) fn write_new(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let file = written(path, bytes, mode)?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    sync(folder_of(path))
}

/// The file beside `path`, gone again unless it takes its place.
fn written(path: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    let name = path.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
    let prefix = format!(".{}.", name.to_string_lossy());
    let folder = folder_of(path);
    // Made with mode 600.
    let mut file = tempfile::Builder::new().prefix(&prefix).suffix(SUFFIX).tempfile_in(folder)?;
    file.write_all(bytes)?;
    // By the file, not by its path: who may write in the folder can put another there.
    file.as_file().set_permissions(permissions(file.path(), mode)?)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// What a name ends with, and begins with a dot, of a file that whoever wrote it was killed at.
pub(crate) const SUFFIX: &str = ".tmp";

/// The folder that holds it.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| parent.components().next().is_some());
    parent.unwrap_or(Path::new(Component::CurDir.as_os_str()))
}

#[cfg(unix)]
fn permissions(_: &Path, mode: u32) -> io::Result<Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn permissions(path: &Path, _: u32) -> io::Result<Permissions> {
    Ok(std::fs::metadata(path)?.permissions())
}

/// The rename itself is safe once its folder is.
#[cfg(unix)]
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Elsewhere a folder can't be opened as a file.
#[cfg(not(unix))]
fn sync(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Who may write in the folder puts a link in the place of a file that is being written: the mode that was meant
    /// for it was given to what is behind the link.
    #[test]
    fn a_mode_is_given_to_the_file_that_was_written_and_to_no_other() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let secret = elsewhere.path().join("secret");
        written(&secret, b"secret", 0o600).unwrap().persist(&secret).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for entry in fs::read_dir(folder.path()).unwrap().flatten() {
                        if entry.file_name().to_string_lossy().ends_with(SUFFIX) {
                            drop(fs::remove_file(entry.path()));
                            drop(symlink(&secret, entry.path()));
                        }
                    }
                }
            });
            for _ in 0..500 {
                // It may well fail, where what it has written is gone.
                drop(write(&folder.path().join("report"), &[0; 4096], 0o644));
            }
            done.store(true, Ordering::Relaxed);
        });
        let mode = fs::metadata(&secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
