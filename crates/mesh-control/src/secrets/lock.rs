//! One process at a time.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::folder;

pub(super) const NAME: &str = ".lock";
/// The most that is read of who holds it, in bytes.
const MOST: u64 = 200;

/// How often it is tried again, and how long it is waited for in between.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(5);

/// A lock of the system's on a file: it ends with its process, however that ends, so none is ever stale.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "held, not used")] File);

/// Why there is none.
pub(super) enum NoLock {
    /// Another has it, who says that of itself.
    Held(String),
    System(io::Error),
}

impl Lock {
    /// Takes it, for a process that does `what`.
    pub(super) fn take(folder: &Path, what: &str) -> Result<Self, NoLock> {
        let mut file = folder::own_file(&folder.join(NAME)).map_err(NoLock::System)?;
        let mut tries = 0;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                // Whoever had it may have a child that is about to be another program, and has it till then.
                Err(TryLockError::WouldBlock) if tries < TRIES => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(NoLock::Held(holder(&file))),
                Err(TryLockError::Error(error)) => return Err(NoLock::System(error)),
            }
            tries += 1;
        }
        let written = file.set_len(0).and_then(|()| {
            writeln!(file, "process {} ({what})", std::process::id())?;
            file.flush()
        });
        written.map(|()| Self(file)).map_err(NoLock::System)
    }
}

/// Who holds it. It may be about to say so: then nobody in particular does.
fn holder(mut file: &File) -> String {
    let mut text = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(MOST).read_to_end(&mut text));
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next().filter(|line| read.is_ok() && !line.is_empty());
    let safe = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    line.map_or_else(|| "another process".to_owned(), |line| line.chars().map(safe).collect())
}
