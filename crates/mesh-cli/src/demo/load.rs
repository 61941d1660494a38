//! The mesh file and its manifests: a person's own, or the example that is built in.

use std::path::Path;

use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest, Problems};

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
            let first = file.file_name().map(|name| name.to_string_lossy().into_owned());
            resolve(&name, move |path| {
                let full = if path.is_empty() {
                    folder.join(first.as_deref().unwrap_or_default())
                } else {
                    folder.join(path)
                };
                std::fs::read_to_string(&full)
                    .map_err(|source| DemoError::Read { path: full, source })
            })
        }
    }
}

fn built_in(path: &str) -> Result<String, DemoError> {
    let path = if path.is_empty() { "mesh.toml" } else { path };
    BUILT_IN.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned()).ok_or_else(
        || DemoError::Read { path: path.into(), source: std::io::ErrorKind::NotFound.into() },
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
