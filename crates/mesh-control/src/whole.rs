//! A file that is there whole or not at all.

use std::fs::{self, File, Permissions};
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
    fs::set_permissions(file.path(), permissions(file.path(), mode)?)?;
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
    Ok(fs::metadata(path)?.permissions())
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
