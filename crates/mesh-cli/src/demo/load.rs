//! The mesh file and its manifests: a person's own, or the example that is built in.

use std::io;
use std::path::Path;

use mesh_core::manifest::{MAX_FILE_BYTES, Mesh, MeshFile, ModuleManifest, Problems};

use super::DemoError;
use super::error::Unread;
use crate::shell::input;

const EXAMPLE: &str = "mesh.toml";

macro_rules! built_in {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../example/", $path)))),*]
    };
}

/// The example's files, by their path beside its mesh file.
const BUILT_IN: &[(&str, &str)] = built_in![
    "mesh.toml",
    "modules/audit.toml",
    "modules/ledger.toml",
    "modules/mail.toml",
    "modules/vault.toml",
];

/// A file as a person would find it, and its text.
struct Reading {
    shown: String,
    text: Result<String, Unread>,
}

/// Reads and resolves the mesh.
pub(crate) fn mesh(file: Option<&Path>) -> Result<Mesh, DemoError> {
    let Some(path) = file else {
        return resolve(Path::new(EXAMPLE), built_in(EXAMPLE), built_in);
    };
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    resolve(path, on_disk(path), |manifest| on_disk(&folder.join(manifest)))
}

/// Parses the mesh file and each manifest it names; `read` gives one by its path beside the mesh
/// file. All mistakes of all files are collected.
fn resolve(path: &Path, mesh: Reading, read: impl Fn(&str) -> Reading) -> Result<Mesh, DemoError> {
    let text = mesh.text.map_err(|why| DemoError::MeshFile { path: path.to_owned(), why })?;
    let file = MeshFile::parse(&mesh.shown, &text)?;
    let mut problems: Option<Problems> = None;
    let mut manifests = Vec::new();
    for (index, assignment) in file.assignments.iter().enumerate() {
        let Reading { shown, text } = read(&assignment.manifest);
        let parsed = match text {
            Ok(text) => ModuleManifest::parse(&shown, &text),
            Err(why) => Err(file.unreadable_manifest(index, &shown, &why.to_string()).into()),
        };
        match parsed {
            Ok(manifest) => manifests.push(manifest),
            Err(found) => {
                problems = Some(match problems.take() {
                    Some(earlier) => earlier.and(found),
                    None => found,
                });
            }
        }
    }
    match problems {
        Some(problems) => Err(problems.into()),
        None => Ok(Mesh::resolve(&file, &manifests)?),
    }
}

fn built_in(path: &str) -> Reading {
    let found = BUILT_IN.iter().find(|(name, _)| *name == path);
    let missing = || io::Error::from(io::ErrorKind::NotFound).into();
    Reading {
        shown: format!("built-in example: {path}"),
        text: found.map(|(_, text)| (*text).to_owned()).ok_or_else(missing),
    }
}

fn on_disk(path: &Path) -> Reading {
    Reading { shown: path.display().to_string(), text: text(path) }
}

/// A file's text, no longer than one that is parsed.
fn text(path: &Path) -> Result<String, Unread> {
    let bytes = input::upto(path, MAX_FILE_BYTES)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(Unread::TooLarge);
    }
    String::from_utf8(bytes)
        .map_err(|error| Unread::NotUtf8 { offset: error.utf8_error().valid_up_to() })
}
