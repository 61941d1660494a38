//! What is wrong in the files and between them.

use std::collections::HashSet;
use std::path::Path;

use mesh_core::manifest::{
    FileKind, Mesh, MeshFile, ModuleManifest, Problem, ProblemKind, Problems,
};
use mesh_core::name::{ModuleName, NodeName};

use super::gather::Files;

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

/// Checks each file, and the mesh that they make: each mesh file's, or that of all manifests where
/// there is no mesh file.
pub(super) fn judge(files: &mut Files) -> Verdict {
    let mut problems = Vec::new();
    let mut read: Vec<Read> = Vec::new();
    let mut meshes = Vec::new();
    // Files that a mesh file names come to the end, and are read in their turn.
    let mut number = 0;
    while number < files.files.len() {
        let (found, wrong) = parse(files, number);
        problems.extend(wrong);
        if files.files[number].kind == FileKind::Mesh {
            meshes.push((number, named(files, number, &found, &mut problems)));
        }
        read.push(found);
        number += 1;
    }
    let modules = || (0..read.len()).filter(|&number| files.files[number].kind == FileKind::Module);
    for (number, named) in &meshes {
        let Read::Mesh(mesh) = &read[*number] else {
            continue;
        };
        // Beside one mesh file, a manifest that it doesn't name may be forgotten there.
        let all: Vec<usize> = if meshes.len() == 1 {
            modules().collect()
        } else {
            named.iter().flatten().copied().collect()
        };
        let broken = Broken::of(mesh, named, &all, &read);
        let found = Mesh::resolve(mesh, &manifests(&all, &read));
        problems.extend(told(found).filter(|problem| broken.leave(&problem.kind)));
    }
    let all: Vec<usize> = modules().collect();
    let mut notes = Vec::new();
    if meshes.is_empty() && all.len() > 1 {
        let mut broken = Broken::default();
        broken.unnamed = all.iter().any(|&number| matches!(read[number], Read::Broken));
        // Any node: that they run somewhere is all that is known.
        if let Ok(node) = NodeName::new("n1") {
            let found = Mesh::on_one_node(&node, manifests(&all, &read));
            problems.extend(told(found).filter(|problem| broken.leave(&problem.kind)));
        }
    } else if meshes.is_empty() && all.len() == 1 {
        notes.push(ALONE);
    }
    if read.len() > 1 && read.iter().any(|read| matches!(read, Read::Broken)) {
        notes.push(AS_FAR);
    }
    Verdict { problems: in_order(problems, files), notes }
}

fn parse(files: &Files, number: usize) -> (Read, Vec<Problem>) {
    let file = &files.files[number];
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

/// The numbers of the manifests that a mesh file names, by its assignments; nothing for one that
/// can't be had, which is told.
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

fn manifests(numbers: &[usize], read: &[Read]) -> Vec<ModuleManifest> {
    let mut seen = HashSet::new();
    let manifests = numbers.iter().filter(|number| seen.insert(**number));
    let manifests = manifests.filter_map(|&number| match &read[number] {
        Read::Module(manifest) => Some(manifest.clone()),
        _ => None,
    });
    manifests.collect()
}

fn told(found: Result<Mesh, Problems>) -> impl Iterator<Item = Problem> {
    let problems: Vec<Problem> = match found {
        Ok(mesh) => mesh.warnings().to_vec(),
        Err(problems) => problems.into_iter().collect(),
    };
    problems.into_iter()
}

/// The modules of whose manifests nothing is known.
#[derive(Debug, Default)]
struct Broken {
    named: HashSet<ModuleName>,
    /// Whether there are others, whose names are not known.
    unnamed: bool,
}

impl Broken {
    fn of(mesh: &MeshFile, named: &[Option<usize>], all: &[usize], read: &[Read]) -> Self {
        let is_broken = |number: &usize| matches!(read[*number], Read::Broken);
        let assigned = mesh.assignments.iter().zip(named);
        let broken = assigned.filter(|(_, number)| number.as_ref().is_none_or(is_broken));
        Self {
            named: broken.map(|(assignment, _)| assignment.module.clone()).collect(),
            unnamed: all.iter().any(|number| is_broken(number) && !named.contains(&Some(*number))),
        }
    }

    /// Whether this holds whatever they say.
    fn leave(&self, kind: &ProblemKind) -> bool {
        let known = |module: &ModuleName| !self.unnamed && !self.named.contains(module);
        match kind {
            ProblemKind::UnknownModule(module) => known(module),
            ProblemKind::UnknownTool(tool) => known(&tool.module),
            ProblemKind::NobodyProvides { from: Some(from), .. } => known(from),
            ProblemKind::NobodyProvides { from: None, .. }
            | ProblemKind::NobodyEmits(_)
            | ProblemKind::NobodyConsumes(_) => !self.unnamed && self.named.is_empty(),
            _ => true,
        }
    }
}

/// Each once, in the order of the files and of their places.
fn in_order(problems: Vec<Problem>, files: &Files) -> Vec<Problem> {
    let numbers: std::collections::HashMap<&str, usize> =
        files.files.iter().enumerate().map(|(number, file)| (file.name.as_str(), number)).collect();
    let key = |problem: &Problem| {
        let number = numbers.get(&*problem.file).copied().unwrap_or(usize::MAX);
        (number, problem.line, problem.column)
    };
    let mut problems = problems;
    problems.sort_by_key(key);
    // A manifest of two meshes may have the same twice.
    problems.dedup();
    problems
}
