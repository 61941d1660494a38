use std::collections::{BTreeMap, BTreeSet};

use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest, ToolRef};
use mesh_core::name::{EventName, ModuleName, NodeName, PersonName, ProvisionName, ToolName};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::manifests::{Draft, Requires, assignment, contributes, file, person, told_apart, tools};
use super::toml_text::{Layout, Table, TomlText, layout, told};
use super::{
    few_events, few_modules, few_nodes, few_tools, module_name, node_name, person_name, tool_name,
};
use crate::fixtures::valid;

/// A mesh whose files agree with each other, and the files.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "the files and what they make")]
pub struct MeshText {
    /// The mesh file.
    pub file: TomlText<MeshFile>,
    /// The manifests of its modules.
    pub manifests: Vec<TomlText<ModuleManifest>>,
    /// What they resolve to.
    pub mesh: Mesh,
}

/// What one module is, before it is known what the others are.
type Part = (
    (BTreeSet<EventName>, BTreeMap<ToolName, Table>, BTreeSet<ProvisionName>),
    Wishes,
    (Vec<Index>, Layout),
);

/// Of what there is, what it consumes, calls and requires.
type Wishes = (Vec<(Index, u8)>, Vec<Index>, Vec<(Index, bool, Option<&'static str>)>);

fn part() -> impl Strategy<Value = Part> {
    let index = any::<Index>;
    let short = "[a-zA-Z0-9]{1,6}(\\.[a-z0-9][a-z0-9_-]{0,3})?"
        .prop_filter_map("never", |text| EventName::new(text).ok());
    let emits = prop::collection::btree_set(prop_oneof![3 => few_events(), 1 => short], 0..=3)
        .prop_map(told_apart);
    let provision = select(&["database", "queue"][..])
        .prop_filter_map("never", |name| ProvisionName::new(name).ok());
    let has = (
        emits,
        tools(prop_oneof![3 => few_tools(), 1 => tool_name()]),
        prop::collection::btree_set(provision, 0..=1),
    );
    let wishes = (
        prop::collection::vec((index(), 0..8_u8), 0..=3),
        prop::collection::vec(index(), 0..=3),
        prop::collection::vec((index(), any::<bool>(), contributes()), 0..=2),
    );
    (has, wishes, (prop::collection::vec(index(), 0..=3), layout()))
}

/// A mesh of one to six modules on one to four nodes, whose files agree: modules that emit and
/// consume, call and serve, provide and require in few names and in wide ones; people who may call
/// some tools, none, or all.
pub fn mesh() -> impl Strategy<Value = MeshText> {
    let module = prop_oneof![2 => few_modules(), 1 => module_name()];
    let modules = prop::collection::btree_map(module, part(), 1..=6);
    let node = prop_oneof![2 => few_nodes(), 1 => node_name()];
    let nodes = prop::collection::btree_set(node, 1..=4);
    let access = prop::option::of(prop::collection::vec(any::<Index>(), 0..=3));
    let people = prop::collection::btree_map(person_name(), access, 0..=2);
    (nodes, modules, people, layout()).prop_map(|(nodes, modules, people, layout)| {
        let nodes = Vec::from_iter(nodes);
        let there = There::of(&modules);
        let mut assignments = Vec::new();
        let mut manifests = Vec::new();
        for (name, part) in &modules {
            let on: BTreeSet<&NodeName> = part.2.0.iter().map(|index| index.get(&nodes)).collect();
            assignments.push(assignment(name, on));
            manifests.push(there.draft(name, part).written(part.2.1));
        }
        let people = people.iter().map(|(name, access)| there.person(name, access.as_deref()));
        let file = file(layout, &nodes, assignments, people.collect());
        let parsed: Vec<ModuleManifest> = manifests.iter().map(|m| m.value.clone()).collect();
        let resolved = Mesh::resolve(&file.value, &parsed).map_err(|problems| told(&problems));
        let mesh = valid(resolved, &file.text);
        MeshText { file, manifests, mesh }
    })
}

/// What all modules emit, serve and provide.
struct There {
    events: Vec<(ModuleName, EventName)>,
    tools: Vec<ToolRef>,
    provisions: Vec<(ProvisionName, ModuleName)>,
}

/// Each part of each module, with the module.
fn each<'m, T: Clone + 'm, I: IntoIterator<Item = &'m T>>(
    modules: &'m BTreeMap<ModuleName, Part>,
    parts: impl Fn(&'m Part) -> I,
) -> Vec<(ModuleName, T)> {
    let all = modules.iter();
    let all = all.map(|(module, part)| {
        parts(part).into_iter().map(|part| (module.clone(), part.clone())).collect::<Vec<_>>()
    });
    all.flatten().collect()
}

impl There {
    fn of(modules: &BTreeMap<ModuleName, Part>) -> Self {
        let tools = each(modules, |part| part.0.1.keys()).into_iter();
        let provisions = each(modules, |part| &part.0.2).into_iter();
        Self {
            events: each(modules, |part| &part.0.0),
            tools: tools.map(|(module, tool)| ToolRef { module, tool }).collect(),
            provisions: provisions.map(|(module, name)| (name, module)).collect(),
        }
    }

    fn draft(&self, name: &ModuleName, part: &Part) -> Draft {
        let (emits, tools, provides) = &part.0;
        let (consumes, calls, requires) = &part.1;
        let consumes: BTreeSet<String> =
            consumes.iter().map(|(index, shape)| self.pattern(index, *shape)).collect();
        let fields = || vec!["url".to_owned(), "pass word".to_owned()];
        Draft {
            name: name.clone(),
            version: "1.0.0".to_owned(),
            emits: emits.iter().cloned().collect(),
            consumes: Vec::from_iter(consumes),
            // A module that calls its own tool is refused.
            calls: self.chosen_tools(calls).into_iter().filter(|t| t.module != *name).collect(),
            tools: tools.clone(),
            provides: provides.iter().map(|name| (name.clone(), fields())).collect(),
            requires: self.requirements(requires),
        }
    }

    /// A pattern that has one of the events in it, if there are any.
    fn pattern(&self, index: &Index, shape: u8) -> String {
        if self.events.is_empty() {
            return ">".to_owned();
        }
        let (module, event) = index.get(&self.events);
        match shape {
            0 => "#".to_owned(),
            1 => format!("{module}.>"),
            2 => format!("*.{event}"),
            3 => format!("{module}.#"),
            4 => format!("{module}.{event}.#"),
            5 => format!("{module}.*"),
            _ => format!("{module}.{event}"),
        }
    }

    fn chosen_tools(&self, indexes: &[Index]) -> Vec<ToolRef> {
        if self.tools.is_empty() {
            return Vec::new();
        }
        let chosen: BTreeSet<&ToolRef> =
            indexes.iter().map(|index| index.get(&self.tools)).collect();
        chosen.into_iter().cloned().collect()
    }

    /// Each provision once; whose, where more than one module has it.
    fn requirements(&self, wishes: &[(Index, bool, Option<&'static str>)]) -> Vec<Requires> {
        let mut chosen = BTreeMap::new();
        for (index, named, contributes) in wishes.iter().filter(|_| !self.provisions.is_empty()) {
            let (provision, from) = index.get(&self.provisions);
            let several =
                self.provisions.iter().filter(|(other, _)| other == provision).count() > 1;
            let from = (*named || several).then(|| from.clone());
            chosen.insert(
                provision.clone(),
                Requires { provision: provision.clone(), from, contributes: *contributes },
            );
        }
        chosen.into_values().collect()
    }

    fn person(&self, name: &PersonName, access: Option<&[Index]>) -> Table {
        let tools = access.map(|indexes| self.chosen_tools(indexes));
        person(name.as_str(), tools.as_deref())
    }
}
