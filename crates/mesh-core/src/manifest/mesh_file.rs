use serde::Deserialize;

use super::bus::{Bus, RawBus, bus};
use super::checker::Checker;
use super::module::called_tools;
use super::source::Source;
use super::{Problem, ProblemKind, Problems, Severity, ToolRef};
use crate::name::{ModuleName, NodeName, PersonName};

/// What a mesh file says: the nodes, which module runs where, and the people.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeshFile {
    /// The nodes.
    pub nodes: Vec<NodeName>,
    /// Which module runs where.
    pub assignments: Vec<Assignment>,
    /// Who may call tools.
    pub people: Vec<Person>,
    /// The server that carries the mesh.
    pub bus: Bus,
    pub(super) source: Source,
}

/// A module and the nodes that run it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Assignment {
    /// The module.
    pub module: ModuleName,
    /// The path of its manifest, relative to the mesh file.
    pub manifest: String,
    /// Where it runs; nowhere, where there are none.
    pub nodes: Vec<NodeName>,
}

/// Somebody and what they may call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Person {
    /// Who.
    pub name: PersonName,
    /// What they may call.
    pub access: Access,
}

/// What a person may call. Exhaustive on purpose: an account is composed for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Every tool, except the two that only the controller calls.
    Administrator,
    /// These tools and no other; none, where the list is empty.
    Tools(Vec<ToolRef>),
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMesh {
    nodes: Vec<RawNode>,
    #[serde(default)]
    assignments: Vec<RawAssignment>,
    #[serde(default)]
    people: Vec<RawPerson>,
    bus: Option<RawBus>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNode {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAssignment {
    module: String,
    manifest: String,
    nodes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPerson {
    name: String,
    #[serde(default)]
    administrator: bool,
    tools: Option<Vec<String>>,
}

impl MeshFile {
    /// Reads a mesh file; `file` is what problems call it.
    ///
    /// # Errors
    /// Every [`Problem`](super::Problem) that could be found, in the file's order.
    pub fn parse(file: &str, text: &str) -> Result<Self, Problems> {
        let (mut checker, raw) = Checker::read::<RawMesh>(file, text)?;
        let nodes = raw.nodes.iter().enumerate();
        let nodes = nodes
            .filter_map(|(index, node)| checker.parsed(&format!("nodes[{index}].name"), &node.name))
            .collect();
        let names = |path: &'static str, names: Vec<String>| {
            let names = names.into_iter().enumerate();
            names.map(move |(index, name)| (path.replace("[]", &format!("[{index}]")), name))
        };
        let node_names = raw.nodes.iter().map(|node| node.name.clone()).collect();
        checker.no_duplicates(names("nodes[].name", node_names));
        let modules = raw.assignments.iter().map(|a| a.module.clone()).collect();
        checker.no_duplicates(names("assignments[].module", modules));
        let people_names = raw.people.iter().map(|person| person.name.clone()).collect();
        checker.no_duplicates(names("people[].name", people_names));
        checker.no_folds(consumers(&raw.assignments));
        let assignments = assignments(&mut checker, raw.assignments);
        let people = people(&mut checker, &raw.people);
        let bus = bus(&mut checker, raw.bus);
        Ok(Self { source: checker.finish()?, nodes, assignments, people, bus })
    }

    /// The file's name, as it was given to [`parse`](Self::parse).
    #[must_use]
    pub fn file(&self) -> &str {
        self.source.file()
    }

    /// Line and column, in characters, both from 1, of the field at `path`, such as `people[0].tools[1]`;
    /// of the nearest around it, where the file does not have it.
    #[must_use]
    pub fn place(&self, path: &str) -> (usize, usize) {
        let place = self.source.place(path);
        (place.line, place.column)
    }

    /// A problem of the field at `path`, for whoever finds more wrong with it than the file itself shows.
    #[must_use]
    pub fn problem(&self, severity: Severity, path: &str, kind: ProblemKind) -> Problem {
        self.source.problem(severity, path, kind)
    }

    /// That the manifest of the assignment number `index` can't be read: `file` is what its reader
    /// calls it, `why` the reader's words.
    #[must_use]
    pub fn unreadable_manifest(&self, index: usize, file: &str, why: &str) -> Problem {
        let kind = ProblemKind::Unreadable { file: file.to_owned(), why: why.to_owned() };
        self.problem(Severity::Error, &format!("assignments[{index}].manifest"), kind)
    }
}

/// The consumer of each module on each of its nodes, `<node>_<module>`.
fn consumers(assignments: &[RawAssignment]) -> impl Iterator<Item = (String, String)> {
    assignments.iter().enumerate().flat_map(|(index, assignment)| {
        assignment.nodes.iter().enumerate().map(move |(number, node)| {
            let path = format!("assignments[{index}].nodes[{number}]");
            (path, format!("{node}_{}", assignment.module))
        })
    })
}

fn assignments(checker: &mut Checker, raw: Vec<RawAssignment>) -> Vec<Assignment> {
    let assignments = raw.into_iter().enumerate();
    assignments
        .filter_map(|(index, raw)| {
            let at = |field: &str| format!("assignments[{index}].{field}");
            let module = checker.parsed(&at("module"), &raw.module);
            checker.not_empty(&at("manifest"), &raw.manifest);
            let nodes = checker.all_parsed(&at("nodes"), &raw.nodes);
            Some(Assignment { module: module?, manifest: raw.manifest, nodes })
        })
        .collect()
}

fn people(checker: &mut Checker, raw: &[RawPerson]) -> Vec<Person> {
    let people = raw.iter().enumerate();
    people
        .filter_map(|(index, raw)| {
            let name = checker.parsed(&format!("people[{index}].name"), &raw.name);
            let access = match (raw.administrator, &raw.tools) {
                (true, None) => Access::Administrator,
                (false, Some(tools)) => {
                    let path = format!("people[{index}].tools");
                    Access::Tools(called_tools(checker, &path, tools))
                }
                _ => {
                    checker.error(&format!("people[{index}]"), ProblemKind::Access);
                    return None;
                }
            };
            Some(Person { name: name?, access })
        })
        .collect()
}
