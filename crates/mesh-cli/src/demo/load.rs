//! The mesh file and its manifests: a person's own, or the example that is built in.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use mesh_core::manifest::{MAX_FILE_BYTES, Mesh, MeshFile, ModuleManifest, Problems};

use super::DemoError;

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

/// Reads and resolves the mesh.
pub(crate) fn mesh(file: Option<&Path>) -> Result<Mesh, DemoError> {
    match file {
        None => resolve(EXAMPLE, built_in),
        Some(file) => {
            let folder = file.parent().unwrap_or_else(|| Path::new("")).to_owned();
            let name = file.display().to_string();
            resolve(&name, move |path| {
                let full = if path.is_empty() { file.to_owned() } else { folder.join(path) };
                text(&full).map_err(|source| DemoError::Read { path: full, source })
            })
        }
    }
}

/// A file's text, no more of it than its reader looks at: a path may lead to what has no end.
fn text(path: &Path) -> io::Result<String> {
    let most = MAX_FILE_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(io::Error::other(format!("more than {MAX_FILE_BYTES} bytes long")));
    }
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn built_in(path: &str) -> Result<String, DemoError> {
    let path = if path.is_empty() { "mesh.toml" } else { path };
    BUILT_IN.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned()).ok_or_else(
        || DemoError::Read { path: path.into(), source: io::ErrorKind::NotFound.into() },
    )
}

/// Parses the mesh file and each manifest it names; `read` gives a file by its path beside the mesh
/// file, which itself is the empty path. All mistakes of all files are collected.
fn resolve(
    name: &str,
    read: impl Fn(&str) -> Result<String, DemoError>,
) -> Result<Mesh, DemoError> {
    let file = MeshFile::parse(name, &read("")?)?;
    let mut problems: Option<Problems> = None;
    let mut manifests = Vec::new();
    for assignment in &file.assignments {
        match ModuleManifest::parse(&assignment.manifest, &read(&assignment.manifest)?) {
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
