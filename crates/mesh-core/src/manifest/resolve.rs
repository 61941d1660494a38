//! What no single file can show.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::advice::near_name;
use super::{
    Access, AssignedModule, Mesh, MeshFile, ModuleManifest, Problem, ProblemKind, Problems,
    Severity, Tool, ToolRef,
};
use crate::name::{ModuleName, NodeName, ProvisionName};

impl Mesh {
    /// Puts a mesh file and its modules' manifests together. An assignment finds its manifest by
    /// the module's name; `manifests` are those at the paths that the assignments give.
    ///
    /// # Errors
    /// Every [`Problem`], warnings included, where at least one of them is an error.
    pub fn resolve(file: &MeshFile, manifests: &[ModuleManifest]) -> Result<Self, Problems> {
        let (mesh, problems) = Self::put_together(file, manifests, Near::Told);
        if problems.iter().any(|p| p.severity == Severity::Error) {
            return Err(Problems::new(problems));
        }
        Ok(Self { warnings: problems, ..mesh })
    }

    /// The same as far as the files agree, with everything that is wrong between them: assignments
    /// without a manifest, and to nodes that there are not, are left out; of several manifests of one
    /// name only the first counts. A call of what nobody serves, or a requirement that nobody meets,
    /// stays as it is written. Names that are much alike are not looked for.
    ///
    /// For whoever must go on with what is right: accounts are composed of it.
    #[must_use]
    pub fn resolve_as_far(file: &MeshFile, manifests: &[ModuleManifest]) -> (Self, Vec<Problem>) {
        Self::put_together(file, manifests, Near::NotLookedFor)
    }

    fn put_together(
        file: &MeshFile,
        manifests: &[ModuleManifest],
        near: Near,
    ) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let by_name = by_name(manifests, &mut problems);
        let assigned: HashSet<&ModuleName> = file.assignments.iter().map(|a| &a.module).collect();
        for manifest in by_name.values().filter(|m| !assigned.contains(&m.name)) {
            problems.push(error(
                manifest,
                "name",
                ProblemKind::UnassignedManifest(manifest.name.clone()),
            ));
        }
        let mesh = Self {
            file: file.clone(),
            nodes: file.nodes.clone(),
            modules: modules(file, &by_name, near, &mut problems),
            people: file
                .people
                .iter()
                .map(|person| (person.name.clone(), person.access.clone()))
                .collect(),
            bus: file.bus.clone(),
            warnings: Vec::new(),
        };
        let providers = mesh.all_providers();
        for module in mesh.modules() {
            mesh.check_calls(&module.manifest, near, &mut problems);
            mesh.check_requirements(&module.manifest, &providers, near, &mut problems);
        }
        mesh.check_events(&mut problems);
        mesh.check_people(file, near, &mut problems);
        mesh.check_seats(file, &mut problems);
        problems.sort_by(|a, b| {
            let key = |p: &Problem| (p.severity, Arc::clone(&p.file), p.line, p.column);
            key(a).cmp(&key(b))
        });
        (mesh, problems)
    }

    fn check_calls(&self, manifest: &ModuleManifest, near: Near, problems: &mut Vec<Problem>) {
        for (index, call) in manifest.calls.iter().enumerate() {
            if let Some((severity, kind)) = self.unserved(call, Some(&manifest.name), near) {
                let field = format!("calls[{index}]");
                problems.push(manifest.source.problem(severity, &field, kind));
            }
        }
    }

    fn check_people(&self, file: &MeshFile, near: Near, problems: &mut Vec<Problem>) {
        for (person, who) in file.people.iter().enumerate() {
            let Access::Tools(tools) = &who.access else {
                continue;
            };
            for (index, tool) in tools.iter().enumerate() {
                if let Some((severity, kind)) = self.unserved(tool, None, near) {
                    let field = format!("people[{person}].tools[{index}]");
                    problems.push(file.source.problem(severity, &field, kind));
                }
            }
        }
    }

    /// What is wrong with a call of `tool` by a module, or by a person.
    fn unserved(
        &self,
        tool: &ToolRef,
        caller: Option<&ModuleName>,
        near: Near,
    ) -> Option<(Severity, ProblemKind)> {
        if self.tool(tool).is_none() {
            let near = near.of(&tool.to_string(), || self.tools_beside(caller));
            Some((Severity::Error, ProblemKind::UnknownTool { tool: tool.clone(), near }))
        } else if !self.is_served(tool) {
            Some((Severity::Warning, ProblemKind::NobodyServes(tool.clone())))
        } else {
            None
        }
    }

    /// The tools of all modules but the caller.
    fn tools_beside(&self, caller: Option<&ModuleName>) -> impl Iterator<Item = ToolRef> {
        let modules = self.modules().map(|module| &module.manifest);
        let others = modules.filter(move |manifest| Some(&manifest.name) != caller);
        others.flat_map(|manifest| {
            let of =
                |tool: &Tool| ToolRef { module: manifest.name.clone(), tool: tool.name.clone() };
            manifest.tools.iter().map(of)
        })
    }

    /// What the module provides, or all do.
    fn provided_by(&self, from: Option<&ModuleName>) -> impl Iterator<Item = &ProvisionName> {
        let modules = self.modules().map(|module| &module.manifest);
        let asked = modules.filter(move |m| from.is_none_or(|from| m.name == *from));
        asked.flat_map(|manifest| manifest.provides.iter().map(|provided| &provided.name))
    }

    /// Who provides what.
    fn all_providers(&self) -> HashMap<&ProvisionName, Vec<&ModuleName>> {
        let mut all: HashMap<&ProvisionName, Vec<&ModuleName>> = HashMap::new();
        for manifest in self.modules().map(|module| &module.manifest) {
            for provision in &manifest.provides {
                all.entry(&provision.name).or_default().push(&manifest.name);
            }
        }
        all
    }

    fn check_requirements(
        &self,
        manifest: &ModuleManifest,
        providers: &HashMap<&ProvisionName, Vec<&ModuleName>>,
        near: Near,
        problems: &mut Vec<Problem>,
    ) {
        for (index, requirement) in manifest.requires.iter().enumerate() {
            let all = providers.get(&requirement.provision).map_or(&[][..], Vec::as_slice);
            let provision = requirement.provision.clone();
            let from = requirement.from.clone();
            let kind = match (&requirement.from, all) {
                (Some(from), _) if all.contains(&from) => continue,
                (None, [_]) => continue,
                (Some(_), _) | (None, []) => {
                    let near = near.of(provision.as_str(), || self.provided_by(from.as_ref()));
                    ProblemKind::NobodyProvides { near: near.cloned(), provision, from }
                }
                (None, several) => {
                    let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
                    ProblemKind::SeveralProvide { provision, modules: names.join(", ") }
                }
            };
            problems.push(error(manifest, &format!("requires[{index}]"), kind));
        }
    }
}

/// Whether names that are much like one that is not there are told.
#[derive(Clone, Copy)]
enum Near {
    Told,
    /// Each costs a look at all names: too much where a module that many call has gone.
    NotLookedFor,
}

impl Near {
    fn of<T: ToString, I: IntoIterator<Item = T>>(
        self,
        found: &str,
        known: impl FnOnce() -> I,
    ) -> Option<T> {
        match self {
            Self::Told => near_name(found, known()),
            Self::NotLookedFor => None,
        }
    }
}

fn by_name<'a>(
    manifests: &'a [ModuleManifest],
    problems: &mut Vec<Problem>,
) -> BTreeMap<&'a ModuleName, &'a ModuleManifest> {
    let mut by_name: BTreeMap<&ModuleName, &ModuleManifest> = BTreeMap::new();
    for manifest in manifests {
        match by_name.get(&manifest.name) {
            Some(first) => {
                let (module, earlier) = (manifest.name.clone(), Arc::clone(first.source.file()));
                let kind = ProblemKind::ModuleTwice { module, earlier };
                problems.push(error(manifest, "name", kind));
            }
            None => {
                by_name.insert(&manifest.name, manifest);
            }
        }
    }
    by_name
}

fn modules(
    file: &MeshFile,
    manifests: &BTreeMap<&ModuleName, &ModuleManifest>,
    near: Near,
    problems: &mut Vec<Problem>,
) -> BTreeMap<ModuleName, AssignedModule> {
    let mut modules = BTreeMap::new();
    let there: HashSet<&NodeName> = file.nodes.iter().collect();
    for (index, assignment) in file.assignments.iter().enumerate() {
        let path = format!("assignments[{index}]");
        let mut push = |severity, field: &str, kind| {
            let field = format!("{path}.{field}");
            problems.push(file.source.problem(severity, &field, kind));
        };
        for (node, name) in assignment.nodes.iter().enumerate() {
            if !there.contains(name) {
                let near = near.of(name.as_str(), || &file.nodes).cloned();
                let kind = ProblemKind::UnknownNode { node: name.clone(), near };
                push(Severity::Error, &format!("nodes[{node}]"), kind);
            }
        }
        if assignment.nodes.is_empty() {
            push(Severity::Warning, "nodes", ProblemKind::Nowhere(assignment.module.clone()));
        }
        match manifests.get(&assignment.module) {
            None => {
                let module = assignment.module.clone();
                let near = near.of(module.as_str(), || manifests.keys().copied()).cloned();
                push(Severity::Error, "module", ProblemKind::UnknownModule { module, near });
            }
            Some(&manifest) => {
                let nodes = assignment.nodes.iter().filter(|node| there.contains(node)).cloned();
                let module = AssignedModule { manifest: manifest.clone(), nodes: nodes.collect() };
                modules.insert(assignment.module.clone(), module);
            }
        }
    }
    modules
}

pub(super) fn error(manifest: &ModuleManifest, field: &str, kind: ProblemKind) -> Problem {
    manifest.source.problem(Severity::Error, field, kind)
}

pub(super) fn warning(manifest: &ModuleManifest, field: &str, kind: ProblemKind) -> Problem {
    manifest.source.problem(Severity::Warning, field, kind)
}
