//! The file: a SQLite database of a known form, held by one process.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::{OpenError, store_error};
use crate::{handled, state};

/// What marks a mesh's store among databases: `mesh` in ASCII.
const APPLICATION: i64 = 0x6d65_7368;
/// The form of the tables. A later form reads this one, and changes it when the file is opened.
const FORM: i64 = 2;

/// Opens the file, and makes it where there is none. Whoever else opens it is refused until this one is
/// closed, or its process has ended.
pub(crate) fn open(path: &Path) -> Result<Connection, OpenError> {
    create(path).map_err(|error| OpenError::failed(path, error))?;
    let failed = |error| OpenError::of(path, error);
    // A name that is no path means something else to SQLite: `:memory:`, or an URI.
    let named = Path::new(".").join(path);
    // Without another handle on the file: to close that would give up the locks of this process.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let file = Connection::open_with_flags(named, flags).map_err(failed)?;
    file.busy_timeout(Duration::ZERO).map_err(failed)?;
    file.pragma_update(None, "locking_mode", "exclusive").map_err(failed)?;
    let number = |name| file.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    // Nothing is written before it is known whose file it is.
    match number("application_id").map_err(failed)? {
        APPLICATION => {
            let found = number("user_version").map_err(failed)?;
            if found > FORM {
                return Err(OpenError::Newer { path: path.to_owned(), found, known: FORM });
            }
            begin(&file).map_err(failed)?;
            check(path, &file)?;
            if found < FORM {
                migrate(&file).map_err(failed)?;
            }
        }
        0 if is_empty(&file).map_err(failed)? => {
            begin(&file).map_err(failed)?;
            lay_out(&file).map_err(failed)?;
        }
        _ => return Err(OpenError::Foreign { path: path.to_owned() }),
    }
    Ok(file)
}

/// Makes an empty file that only its owner may read, unless one is there.
fn create(path: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => {
            // So that a power cut does not take the name away.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn is_empty(file: &Connection) -> rusqlite::Result<bool> {
    file.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}

/// Keeps a log of what is written, beside the file, and takes the file for this process.
fn begin(file: &Connection) -> rusqlite::Result<()> {
    file.pragma_update(None, "journal_mode", "wal")?;
    file.pragma_update(None, "cache_size", -8192)?;
    // The lock comes with the first write.
    file.execute_batch("BEGIN IMMEDIATE; COMMIT")
}

fn lay_out(file: &Connection) -> rusqlite::Result<()> {
    file.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         {};
         {};
         PRAGMA user_version = {FORM};
         PRAGMA application_id = {APPLICATION};
         COMMIT",
        handled::TABLE,
        state::MIGRATION
    ))
}

/// Makes one of this form of a file of the form before: it has the table of what was handled, and nothing
/// else.
fn migrate(file: &Connection) -> rusqlite::Result<()> {
    file.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         {};
         PRAGMA user_version = {FORM};
         COMMIT",
        state::MIGRATION
    ))
}

/// Whether all pages are where they belong.
fn check(path: &Path, file: &Connection) -> Result<(), OpenError> {
    let checked = file.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    match checked.map_err(|error| OpenError::of(path, error))?.as_str() {
        "ok" => Ok(()),
        found => {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            let error = rusqlite::Error::SqliteFailure(code, Some(found.to_owned()));
            Err(OpenError::Damaged { path: path.to_owned(), source: store_error(error) })
        }
    }
}
