//! From paths to the files that are checked.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mesh_core::manifest::{FileKind, MAX_FILE_BYTES, Problem};

use crate::shell::{Failure, input};

/// The most files that are checked at once.
const MOST_FILES: usize = 10_000;

/// A file and what it holds.
#[derive(Debug)]
pub(super) struct File {
    /// What it is called towards people.
    pub(super) name: String,
    /// Where it is, by which a mesh file's manifests are found; nothing for stdin.
    pub(super) path: Option<PathBuf>,
    pub(super) kind: FileKind,
    /// Its text as far as it is one, and what is wrong with it else.
    pub(super) text: String,
    pub(super) problem: Option<Problem>,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) files: Vec<File>,
    /// TOML files in folders that look like neither a mesh file nor a manifest.
    pub(super) skipped: Vec<String>,
    /// What can't be read.
    pub(super) unread: Vec<Failure>,
    /// The numbers of the files, by their paths without links: one is checked once.
    known: HashMap<PathBuf, usize>,
}

impl Files {
    /// Reads files, folders and (`-`) stdin, each file once.
    pub(super) fn gather(paths: &[PathBuf]) -> Self {
        let mut found = Self::default();
        let mut folders = Vec::new();
        for path in paths {
            if path.as_os_str() == input::STDIN {
                found.stdin();
            } else if path.is_dir() {
                folders.push(path);
            } else if let Err(error) = found.file(path) {
                found.unread.push(input::unread(&path.display().to_string(), &error));
            }
        }
        for folder in folders {
            found.folder(folder);
        }
        found
    }

    /// The number of the manifest at `path`, which is read if it is not there yet. Something else than a
    /// file is not, since it may have no end.
    pub(super) fn manifest(&mut self, path: &Path) -> io::Result<usize> {
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        self.file(path)
    }

    fn file(&mut self, path: &Path) -> io::Result<usize> {
        let real = real(path);
        if let Some(number) = self.known.get(&real) {
            return Ok(*number);
        }
        let file = read(path)?;
        self.skipped.retain(|name| *name != file.name);
        Ok(self.add(real, file))
    }

    fn add(&mut self, real: PathBuf, file: File) -> usize {
        self.files.push(file);
        self.known.insert(real, self.files.len() - 1);
        self.files.len() - 1
    }

    /// What stdin gives. That is nothing, the second time.
    fn stdin(&mut self) {
        let name = input::name(Path::new(input::STDIN));
        if self.files.iter().any(|file| file.name == name) {
            return;
        }
        match input::first(io::stdin().lock(), MAX_FILE_BYTES) {
            Ok(bytes) => self.files.push(file(name, None, bytes)),
            Err(error) => self.unread.push(input::unread(&name, &error)),
        }
    }

    /// Looks for TOML files in a folder and those in it, but for hidden ones and links to others.
    fn folder(&mut self, root: &Path) {
        let mut left = vec![root.to_owned()];
        let mut found = Vec::new();
        while let Some(folder) = left.pop() {
            let entries = fs::read_dir(&folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
            let entries = entries.unwrap_or_else(|error| {
                self.unread.push(input::unread(&folder.display().to_string(), &error));
                Vec::new()
            });
            let shown =
                |entry: &fs::DirEntry| !entry.file_name().as_encoded_bytes().starts_with(b".");
            for entry in entries.into_iter().filter(shown) {
                let path = entry.path();
                // `mesh check .` speaks of `mesh.toml`.
                let path = path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
                let is_toml = path.extension().is_some_and(|ending| ending == "toml");
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    left.push(path);
                } else if is_toml && found.len() == MOST_FILES {
                    let what = format!("more than {MOST_FILES} TOML files");
                    let failure = Failure::new(what, "name the mesh file, or a smaller folder");
                    return self.unread.push(failure.at(root.display()));
                } else if is_toml && !path.is_dir() {
                    found.push(path);
                }
            }
        }
        found.sort();
        for path in found {
            if let Err(error) = self.in_folder(&path) {
                self.unread.push(input::unread(&path.display().to_string(), &error));
            }
        }
    }

    /// A file that nobody named: one that is neither a mesh file nor a manifest is left alone.
    fn in_folder(&mut self, path: &Path) -> io::Result<()> {
        let real = real(path);
        if !fs::metadata(path)?.is_file() || self.known.contains_key(&real) {
            return Ok(());
        }
        let file = read(path)?;
        if FileKind::of(&file.text).is_some() {
            self.add(real, file);
        } else {
            self.skipped.push(file.name);
        }
        Ok(())
    }
}

/// The path without links, where there is one: a pipe between programs has none.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn read(path: &Path) -> io::Result<File> {
    let bytes = input::upto(path, MAX_FILE_BYTES)?;
    Ok(file(path.display().to_string(), Some(path), bytes))
}

fn file(name: String, path: Option<&Path>, bytes: Vec<u8>) -> File {
    // More than is read, where the file is longer.
    let length = path.and_then(|path| usize::try_from(fs::metadata(path).ok()?.len()).ok());
    let problem = Problem::of_bytes(&name, &bytes, bytes.len().max(length.unwrap_or_default()));
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let kind = FileKind::of(&text).unwrap_or(FileKind::Module);
    File { name, path: path.map(Path::to_owned), kind, text, problem }
}
