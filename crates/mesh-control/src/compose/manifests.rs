//! The manifests of a mesh, each for itself: one that is wrong takes no other with it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mesh_core::manifest::{MeshFile, ModuleManifest, ProblemKind, Severity};
use mesh_core::name::ModuleName;

use super::{Refused, Source};

/// Those that can be read, one for each module, and the others.
pub(super) struct Manifests {
    pub(super) sound: Vec<ModuleManifest>,
    pub(super) refused: Vec<Refused>,
}

impl Manifests {
    pub(super) fn of(file: &MeshFile, sources: &[Source<'_>]) -> Self {
        // In one order, whatever order they came in.
        let mut sources: Vec<&Source<'_>> = sources.iter().collect();
        sources.sort_by_key(|source| (source.file, source.text));
        sources.dedup();
        let wanted = Wanted::of(file);
        let mut refused = Vec::new();
        let mut by_name: BTreeMap<ModuleName, Vec<ModuleManifest>> = BTreeMap::new();
        for source in sources {
            match ModuleManifest::parse(source.file, source.text) {
                Ok(manifest) => by_name.entry(manifest.name.clone()).or_default().push(manifest),
                Err(problems) => refused.push(Refused {
                    module: wanted
                        .module(source.file)
                        .map(ToString::to_string)
                        .or_else(|| ModuleManifest::name_in(source.text)),
                    file: source.file.to_owned(),
                    problems: problems.into_iter().collect(),
                }),
            }
        }
        let mut sound = Vec::new();
        for (name, mut found) in by_name {
            if found.len() == 1 {
                sound.append(&mut found);
                continue;
            }
            // Of several, the one that the mesh file means by its path.
            let meant = |manifest: &ModuleManifest| wanted.module(manifest.file()) == Some(&name);
            let (mut meant, others): (Vec<_>, Vec<_>) = found.into_iter().partition(meant);
            if let [one] = meant.as_slice() {
                let one: Arc<str> = one.file().into();
                refused.extend(others.iter().map(|other| twice(other, &one)));
                sound.append(&mut meant);
                continue;
            }
            let wrong: Vec<ModuleManifest> = meant.into_iter().chain(others).collect();
            // Nobody knows which is meant: each names another one.
            for (number, manifest) in wrong.iter().enumerate() {
                let other: Arc<str> = wrong[usize::from(number == 0)].file().into();
                refused.push(twice(manifest, &other));
            }
        }
        Self { sound, refused }
    }
}

/// A manifest whose module another one describes too.
fn twice(manifest: &ModuleManifest, other: &Arc<str>) -> Refused {
    let (module, earlier) = (manifest.name.clone(), Arc::clone(other));
    let kind = ProblemKind::ModuleTwice { module, earlier };
    let problem = manifest.problem(Severity::Error, "name", kind);
    Refused::of(Some(manifest.name.to_string()), problem)
}

/// Which module's manifest a file is to be, by the paths of the mesh file.
struct Wanted<'f>(HashMap<&'f str, &'f ModuleName>);

impl<'f> Wanted<'f> {
    fn of(file: &'f MeshFile) -> Self {
        let assignments = file.assignments.iter();
        Self(
            assignments
                .map(|assignment| {
                    let path = assignment.manifest.trim_start_matches("./");
                    (path, &assignment.module)
                })
                .collect(),
        )
    }

    /// By the whole path, or what is left of it below some folder: paths are relative to the mesh file.
    fn module(&self, file: &str) -> Option<&'f ModuleName> {
        let slashes = file.match_indices('/').map(|(at, _)| at + 1);
        let mut ends = std::iter::once(0).chain(slashes);
        ends.find_map(|start| self.0.get(&file[start..]).copied())
    }
}
