//! What is wrong in the files and between them.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use mesh_core::manifest::{
    FileKind, Mesh, MeshFile, ModuleManifest, Problem, ProblemKind, Problems,
};
use mesh_core::name::{ModuleName, NodeName};

use super::gather::{File, Files};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// In the order of the files, and within each from its beginning on.
    pub(super) problems: Vec<Problem>,
    /// What was not looked at, and why.
    pub(super) notes: Vec<&'static str>,
}

const ALONE: &str =
    "checked alone; with its mesh file or a folder, what is between the modules is checked too";
const AS_FAR: &str =
    "what is between the modules was checked only as far as these files can be understood";

/// A file as it reads.
enum Read {
    Mesh(MeshFile),
    Module(ModuleManifest),
    /// It has mistakes.
    Broken,
}

/// The files as they read, by their numbers.
#[derive(Default)]
struct Reading {
    files: Vec<Read>,
    /// Mesh files, broken ones too, with the manifests that each names, by its assignments: nothing
    /// for one that can't be had.
    meshes: Vec<(usize, Vec<Option<usize>>)>,
    modules: Vec<usize>,
}

/// Checks each file, and the mesh that they make: each mesh file's, or that of all manifests where
/// there is no mesh file.
pub(super) fn judge(files: &mut Files) -> Verdict {
    let mut problems = Vec::new();
    let reading = Reading::of(files, &mut problems);
    let is_broken = |number: &usize| matches!(reading.files[*number], Read::Broken);
    for (number, named) in &reading.meshes {
        let Read::Mesh(mesh) = &reading.files[*number] else {
            continue;
        };
        // Beside one mesh file, a manifest that it doesn't name may be forgotten there.
        let members = match reading.meshes.len() {
            1 => reading.modules.clone(),
            _ => named.iter().flatten().copied().collect(),
        };
        let broken = Broken {
            modules: (mesh.assignments.iter().zip(named))
                .filter(|(_, number)| number.as_ref().is_none_or(is_broken))
                .map(|(assignment, _)| assignment.module.clone())
                .collect(),
            others: members
                .iter()
                .any(|member| is_broken(member) && !named.contains(&Some(*member))),
        };
        let found = Mesh::resolve(mesh, &reading.manifests(&members));
        problems.extend(told(found).filter(|problem| broken.leave(&problem.kind)));
    }
    if reading.meshes.is_empty() && reading.modules.len() > 1 {
        let others = reading.modules.iter().any(is_broken);
        let broken = Broken { modules: HashSet::new(), others };
        // On any node: that they run somewhere is all that is known.
        if let Ok(node) = NodeName::new("n1") {
            let found = Mesh::on_one_node(&node, reading.manifests(&reading.modules));
            problems.extend(told(found).filter(|problem| broken.leave(&problem.kind)));
        }
    }
    let mut notes = Vec::new();
    if reading.meshes.is_empty() && reading.modules.len() == 1 {
        notes.push(ALONE);
    }
    let is_missing = reading.meshes.iter().flat_map(|(_, named)| named).any(Option::is_none);
    let one_is_broken = (0..reading.files.len()).any(|number| is_broken(&number));
    if is_missing || reading.files.len() > 1 && one_is_broken {
        notes.push(AS_FAR);
    }
    Verdict { problems: in_order(problems, files), notes }
}

impl Reading {
    /// Reads all files, and those that mesh files name: they come to the end, and have their turn.
    fn of(files: &mut Files, problems: &mut Vec<Problem>) -> Self {
        let mut reading = Self::default();
        while let Some(file) = files.files.get(reading.files.len()) {
            let number = reading.files.len();
            let kind = file.kind;
            let (read, wrong) = parse(file);
            problems.extend(wrong);
            match kind {
                FileKind::Mesh => {
                    reading.meshes.push((number, named(files, number, &read, problems)));
                }
                FileKind::Module => reading.modules.push(number),
            }
            reading.files.push(read);
        }
        reading
    }

    /// Those that are in order, each once.
    fn manifests(&self, numbers: &[usize]) -> Vec<ModuleManifest> {
        let mut seen = HashSet::new();
        let numbers = numbers.iter().filter(|number| seen.insert(**number));
        let manifests = numbers.filter_map(|&number| match &self.files[number] {
            Read::Module(manifest) => Some(manifest.clone()),
            _ => None,
        });
        manifests.collect()
    }
}

fn parse(file: &File) -> (Read, Vec<Problem>) {
    if let Some(problem) = &file.problem {
        return (Read::Broken, vec![problem.clone()]);
    }
    let parsed = match file.kind {
        FileKind::Mesh => MeshFile::parse(&file.name, &file.text).map(Read::Mesh),
        FileKind::Module => ModuleManifest::parse(&file.name, &file.text).map(Read::Module),
    };
    match parsed {
        Ok(read) => (read, Vec::new()),
        Err(problems) => (Read::Broken, problems.into_iter().collect()),
    }
}

/// The manifests that a mesh file names. That one can't be had is told.
fn named(
    files: &mut Files,
    number: usize,
    read: &Read,
    problems: &mut Vec<Problem>,
) -> Vec<Option<usize>> {
    let file = &files.files[number];
    let folder = file.path.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
    let names = match read {
        Read::Mesh(mesh) => mesh.assignments.iter().map(|a| a.manifest.clone()).collect(),
        _ => MeshFile::manifests_named(&file.text),
    };
    let mut found = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let path = folder.join(name);
        let manifest = match files.manifest(&path) {
            Ok(manifest) if files.files[manifest].kind == FileKind::Module => Ok(manifest),
            Ok(_) => Err("it is a mesh file".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        if let (Err(why), Read::Mesh(mesh)) = (&manifest, read) {
            problems.push(mesh.unreadable_manifest(index, &path.display().to_string(), why));
        }
        found.push(manifest.ok());
    }
    found
}

fn told(found: Result<Mesh, Problems>) -> impl Iterator<Item = Problem> {
    let problems: Vec<Problem> = match found {
        Ok(mesh) => mesh.warnings().to_vec(),
        Err(problems) => problems.into_iter().collect(),
    };
    problems.into_iter()
}

/// The modules of whose manifests nothing is known.
struct Broken {
    modules: HashSet<ModuleName>,
    /// Whether there are others, whose names are not known.
    others: bool,
}

impl Broken {
    /// Whether this holds whatever they say.
    fn leave(&self, kind: &ProblemKind) -> bool {
        let known = |module: &ModuleName| !self.others && !self.modules.contains(module);
        match kind {
            ProblemKind::UnknownModule { module, .. } => known(module),
            ProblemKind::UnknownTool { tool, .. } => known(&tool.module),
            ProblemKind::NobodyProvides { from: Some(from), .. } => known(from),
            ProblemKind::NobodyProvides { from: None, .. }
            | ProblemKind::NobodyEmits(_)
            | ProblemKind::NobodyConsumes(_) => !self.others && self.modules.is_empty(),
            _ => true,
        }
    }
}

/// Each once, in the order of the files and of their places.
fn in_order(mut problems: Vec<Problem>, files: &Files) -> Vec<Problem> {
    let names = files.files.iter().enumerate().map(|(number, file)| (file.name.as_str(), number));
    let numbers: HashMap<&str, usize> = names.collect();
    problems.sort_by_key(|problem| {
        let number = numbers.get(&*problem.file).copied();
        (number.unwrap_or(usize::MAX), problem.line, problem.column)
    });
    // A manifest of two meshes may have the same twice.
    problems.dedup();
    problems
}
