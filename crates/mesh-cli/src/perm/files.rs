//! The mesh that is asked about.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use mesh_control::compose::{Composition, More, Refused};
use mesh_core::manifest::{FileKind, MAX_FILE_BYTES};

use crate::mesh_files::MeshFiles;
use crate::shell::{Failure, input};

const MESH_FILE: &str = "mesh.toml";

/// See the module.
#[derive(Debug, Args)]
pub(super) struct MeshAt {
    /// The mesh file, or its folder. Manifests are found as it names them.
    #[arg(long, value_name = "FILE", default_value = MESH_FILE)]
    pub(super) mesh: PathBuf,
}

impl MeshAt {
    pub(super) fn read(&self) -> Result<Read, Failure> {
        Read::of(&self.mesh)
    }
}

/// A mesh and the files that it is composed of. Nobody is revoked or enrols there: the files know nothing of that.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) files: MeshFiles,
    pub(super) mesh: Composition,
}

impl Read {
    pub(super) fn of(path: &Path) -> Result<Self, Failure> {
        let files = MeshFiles::read(&mesh_file(path)?)?;
        let mesh = files.compose(&More::default())?;
        Ok(Self { files, mesh })
    }

    /// What was left out, one line each.
    pub(super) fn left_out(&self) -> Vec<String> {
        left_out(&self.files, self.mesh.refused())
    }
}

/// Modules without an account, and why: one line each.
pub(super) fn left_out(files: &MeshFiles, refused: &[Refused]) -> Vec<String> {
    let unread = files.unread.iter().map(ToString::to_string);
    let refused = refused.iter().flat_map(|refused| &refused.problems).map(ToString::to_string);
    // An assignment whose manifest can't be read is refused for having none as well.
    let mut all: Vec<String> = unread.chain(refused).collect();
    let mut seen = std::collections::HashSet::new();
    all.retain(|line| seen.insert(line.clone()));
    all
}

/// The mesh file itself, where its folder is named.
pub(super) fn mesh_file(path: &Path) -> Result<PathBuf, Failure> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let usual = path.join(MESH_FILE);
    if usual.is_file() {
        return Ok(usual);
    }
    let unread = |error| input::unread(&path.display().to_string(), &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(unread)? {
        let file = entry.map_err(unread)?.path();
        let is_toml = file.extension().is_some_and(|ending| ending == "toml");
        if is_toml && file.is_file() && is_mesh(&file) {
            found.push(file);
        }
    }
    match <[PathBuf; 1]>::try_from(found) {
        Ok([file]) => Ok(file),
        Err(found) => {
            let what = if found.is_empty() {
                "no mesh file is there"
            } else {
                "several mesh files are there"
            };
            let hint = "name the file itself";
            Err(Failure::new(what, hint).at(path.display()))
        }
    }
}

fn is_mesh(file: &Path) -> bool {
    let bytes = input::upto(file, MAX_FILE_BYTES).unwrap_or_default();
    FileKind::of(&String::from_utf8_lossy(&bytes)) == Some(FileKind::Mesh)
}
