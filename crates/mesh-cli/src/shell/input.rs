//! What a command reads: a file, or stdin.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::Failure;

/// What stands for stdin where a file is named.
pub(crate) const STDIN: &str = "-";

/// What a file is called towards people.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == STDIN { "(stdin)".to_owned() } else { path.display().to_string() }
}

/// What a file holds, or stdin for `-`: at most `most` bytes. One without an end isn't read to it.
pub(crate) fn bytes(path: &Path, most: usize) -> Result<Vec<u8>, Failure> {
    let bytes =
        if path.as_os_str() == STDIN { first(io::stdin().lock(), most) } else { upto(path, most) };
    let bytes = bytes.map_err(|error| unread(&name(path), &error))?;
    if bytes.len() > most {
        let hint = "see that it is the file that is meant";
        return Err(Failure::new(format!("more than {most} bytes long"), hint).at(name(path)));
    }
    Ok(bytes)
}

/// What a file holds; of one that is longer than `most` one byte more, so that it shows.
pub(crate) fn upto(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    first(File::open(path)?, most)
}

/// The same of what is read.
pub(crate) fn first(read: impl Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read.take(u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// That something can't be read, with what to do about it.
pub(crate) fn unread(name: &str, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "see that the path is right; `-` reads stdin",
        io::ErrorKind::PermissionDenied => "let this user read it",
        io::ErrorKind::IsADirectory => "name a file in it",
        _ => "see that it is a file that can be read",
    };
    Failure::new(format!("can't read it: {error}"), hint).at(name)
}
