//! A mesh file and the manifests that it names, as they are composed.

use std::path::Path;

use mesh_control::compose::{Composition, More, Source};
use mesh_core::manifest::{MAX_FILE_BYTES, MeshFile, Problem, Problems};

use crate::shell::{Failure, input};

/// What was read.
#[derive(Debug)]
pub(crate) struct MeshFiles {
    mesh: (String, String),
    manifests: Vec<(String, String)>,
    /// Manifests that can't be read: they harm no other.
    pub(crate) unread: Vec<Problem>,
    /// What the mesh file says.
    pub(crate) file: MeshFile,
}

impl MeshFiles {
    /// Reads a mesh file, and the manifests that it names beside it.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let name = input::name(path);
        let text = String::from_utf8(input::bytes(path, MAX_FILE_BYTES)?).map_err(|_| {
            Failure::new("not UTF-8", "name a mesh file, and save it as UTF-8").at(&name)
        })?;
        let file = MeshFile::parse(&name, &text).map_err(|problems| mistakes(&problems))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let (mut manifests, mut unread) = (Vec::new(), Vec::new());
        for (index, assignment) in file.assignments.iter().enumerate() {
            let path = folder.join(&assignment.manifest);
            let shown = path.display().to_string();
            let text = input::upto(&path, MAX_FILE_BYTES).map_err(|error| error.to_string());
            let text = text.and_then(|bytes| match bytes.len() {
                0..=MAX_FILE_BYTES => String::from_utf8(bytes).map_err(|_| "not UTF-8".to_owned()),
                _ => Err(format!("more than {MAX_FILE_BYTES} bytes long")),
            });
            match text {
                Ok(text) => manifests.push((shown, text)),
                Err(why) => unread.push(file.unreadable_manifest(index, &shown, &why)),
            }
        }
        Ok(Self { mesh: (name, text), manifests, unread, file })
    }

    /// What a file says, by the name that it has in problems and grants.
    pub(crate) fn text(&self, file: &str) -> Option<&str> {
        let mut all = [&self.mesh].into_iter().chain(&self.manifests);
        all.find(|(name, _)| name == file).map(|(_, text)| text.as_str())
    }

    /// Composes them.
    pub(crate) fn compose(&self, more: &More) -> Result<Composition, Failure> {
        let manifests: Vec<_> = self.manifests.iter().map(source).collect();
        Composition::of(source(&self.mesh), &manifests, more)
            .map_err(|problems| mistakes(&problems))
    }
}

fn source((file, text): &(String, String)) -> Source<'_> {
    Source { file, text }
}

fn mistakes(problems: &Problems) -> Failure {
    let hint = "`mesh check` with the mesh file shows each in its place";
    Failure::new(format!("the mesh file has mistakes:\n{problems}"), hint)
}
