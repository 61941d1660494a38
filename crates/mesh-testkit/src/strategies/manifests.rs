use std::collections::{BTreeMap, BTreeSet};

use mesh_core::manifest::{EventPattern, MeshFile, ModuleManifest, ToolRef};
use mesh_core::name::{EventName, ModuleName, ProvisionName, ToolName, folded};
use mesh_core::provision::is_reserved_tool;
use mesh_core::topology::MeshSubject;
use proptest::prelude::*;
use proptest::sample::select;

use super::texts::line;
use super::toml_text::{Layout, Table, TomlText, document, layout, quoted, strings};
use super::{
    event_name, few_events, few_modules, module_name, node_name, person_name, provision_name,
    tool_name,
};

/// Any pattern of events: with stars, a `>` or AMQP's `#` at its end, or one event exactly.
pub fn event_pattern() -> impl Strategy<Value = EventPattern> {
    let star = || Just("*".to_owned());
    let module = prop_oneof![3 => module_name().prop_map(|name| name.to_string()), 1 => star()];
    let event = event_name().prop_map(|name| name.to_string());
    let tokens = prop::collection::vec(prop_oneof![3 => event, 1 => star()], 0..=2);
    pattern_of(module, tokens)
}

/// A pattern over [`few_modules`] and [`few_events`].
pub fn few_patterns() -> impl Strategy<Value = EventPattern> {
    let star = || Just("*".to_owned());
    let module = prop_oneof![2 => few_modules().prop_map(|name| name.to_string()), 1 => star()];
    let event = few_events().prop_map(|name| name.to_string());
    let tokens = prop::collection::vec(prop_oneof![2 => event, 1 => star()], 0..=2);
    pattern_of(module, tokens)
}

fn pattern_of(
    module: impl Strategy<Value = String>,
    tokens: impl Strategy<Value = Vec<String>>,
) -> impl Strategy<Value = EventPattern> {
    let tail = select(&["", "", ".>", ".#"][..]);
    let some = (module, tokens, tail).prop_filter_map("too long", |(module, tokens, tail)| {
        let tail = if tokens.is_empty() && tail.is_empty() { ".>" } else { tail };
        let tokens = std::iter::once(module).chain(tokens).collect::<Vec<_>>();
        EventPattern::new(&format!("{}{tail}", tokens.join("."))).ok()
    });
    let all = select(&[">", "#", "*.>"][..])
        .prop_filter_map("never", |text| EventPattern::new(text).ok());
    prop_oneof![9 => some, 1 => all]
}

/// What a manifest says beside its name, as it is written.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) name: ModuleName,
    pub(super) version: String,
    pub(super) emits: Vec<EventName>,
    pub(super) consumes: Vec<String>,
    pub(super) calls: Vec<ToolRef>,
    pub(super) tools: BTreeMap<ToolName, Table>,
    pub(super) provides: Vec<(ProvisionName, Vec<String>)>,
    pub(super) requires: Vec<Requires>,
}

#[derive(Debug, Clone)]
pub(super) struct Requires {
    pub(super) provision: ProvisionName,
    pub(super) from: Option<ModuleName>,
    pub(super) contributes: Option<&'static str>,
}

impl Draft {
    pub(super) fn written(&self, layout: Layout) -> TomlText<ModuleManifest> {
        let mut values: Table =
            vec![("name", quoted(self.name.as_str())), ("version", quoted(&self.version))];
        let arrays = [
            ("emits", strings(&self.emits)),
            ("consumes", strings(&self.consumes)),
            ("calls", strings(&self.calls)),
        ];
        values.extend(arrays.into_iter().filter(|(_, array)| array != "[]"));
        let tools = self.tools.iter().map(|(name, rest)| {
            let name = ("name", quoted(name.as_str()));
            std::iter::once(name).chain(rest.iter().cloned()).collect()
        });
        let provides = self.provides.iter().map(|(name, fields)| {
            vec![("name", quoted(name.as_str())), ("credential", strings(fields))]
        });
        let requires = self.requires.iter().map(|required| {
            let from = required.from.iter().map(|from| ("from", quoted(from.as_str())));
            let adds = required.contributes.iter();
            let adds = adds.map(|table| ("contributes", (*table).to_owned()));
            let provision = ("provision", quoted(required.provision.as_str()));
            std::iter::once(provision).chain(from).chain(adds).collect()
        });
        let tables = [
            ("tools", tools.collect()),
            ("provides", provides.collect()),
            ("requires", requires.collect()),
        ];
        let text = document(layout, &values, &tables);
        let file = format!("{}.toml", self.name);
        TomlText::sound(text, |text| ModuleManifest::parse(&file, text))
    }
}

/// Tools of a module under these names, with any of a tool's optional keys.
pub(super) fn tools(
    names: impl Strategy<Value = ToolName>,
) -> impl Strategy<Value = BTreeMap<ToolName, Table>> {
    let names = names.prop_filter("the controller's", |name| !is_reserved_tool(name.as_str()));
    let schema = select(
        &[
            "{}",
            "{ type = \"object\" }",
            "{ properties = { to = { type = \"string\" }, n = { type = \"number\", minimum = 0.5 } }, required = [\"to\"] }",
        ][..],
    );
    let timeout = select(&["30s", "1m 30s", "PT2S", "250ms", "1h"][..]);
    let schemas = (prop::option::of(schema.clone()), prop::option::of(schema));
    let repeatable = prop::option::of(any::<bool>());
    let keys = (line(16), schemas, repeatable, prop::option::of(timeout));
    let rest = keys.prop_map(|(description, (input, output), repeatable, timeout)| {
        let mut table: Table = vec![("description", quoted(&description))];
        table.extend(input.map(|schema| ("input", schema.to_owned())));
        table.extend(output.map(|schema| ("output", schema.to_owned())));
        table.extend(repeatable.map(|yes| ("repeatable", yes.to_string())));
        table.extend(timeout.map(|timeout| ("timeout", quoted(timeout))));
        table
    });
    prop::collection::btree_map(names, rest, 0..=3).prop_map(|mut tools| {
        let mut seen = BTreeSet::new();
        tools.retain(|name, _| seen.insert(folded(name.as_str())));
        tools
    })
}

/// These without those that fold together with one before: a manifest may not have both.
pub(super) fn told_apart(events: BTreeSet<EventName>) -> BTreeSet<EventName> {
    let mut seen = BTreeSet::new();
    events.into_iter().filter(|event| seen.insert(folded(event.as_str()))).collect()
}

/// What a consumer adds to what it requires.
pub(super) fn contributes() -> impl Strategy<Value = Option<&'static str>> {
    let tables = &["{}", "{ schema = \"mail\", sizes = [1, 2.5], deep = { on = true } }"][..];
    prop::option::of(select(tables))
}

/// A module's manifest with any of its optional parts, in wide names: it agrees with itself, and
/// with no other.
pub fn module_manifest() -> impl Strategy<Value = TomlText<ModuleManifest>> {
    let consumes = event_pattern().prop_map(|pattern| pattern.to_string());
    let call = (module_name(), tool_name()).prop_map(|(module, tool)| ToolRef { module, tool });
    let call = call.prop_filter("the controller's", |call| !is_reserved_tool(call.tool.as_str()));
    let events = (
        prop::collection::btree_set(event_name(), 0..=3).prop_map(told_apart),
        prop::collection::btree_set(consumes, 0..=3),
    );
    let fields = prop::collection::btree_set(line(8), 0..=3);
    let provides = prop::collection::btree_map(provision_name(), fields, 0..=2);
    let requires = (prop::option::of(module_name()), contributes());
    let requires = prop::collection::btree_map(provision_name(), requires, 0..=2);
    let all = (
        (module_name(), line(8), layout()),
        events,
        prop::collection::btree_set(call, 0..=3),
        tools(tool_name()),
        (provides, requires),
    );
    all.prop_map(|(head, events, calls, tools, provisions)| {
        let (name, version, layout) = head;
        let fits = |event: &EventName| {
            let (module, event) = (name.clone(), event.clone());
            MeshSubject::Event { module, event }.to_subject().is_ok()
        };
        let (provides, requires) = provisions;
        let provides = provides.into_iter().map(|(name, fields)| (name, Vec::from_iter(fields)));
        let requires = requires.into_iter().map(|(provision, (from, contributes))| Requires {
            provision,
            from,
            contributes,
        });
        let draft = Draft {
            emits: events.0.into_iter().filter(fits).collect(),
            consumes: Vec::from_iter(events.1),
            calls: calls.into_iter().filter(|tool| tool.module != name).collect(),
            tools,
            provides: provides.collect(),
            requires: requires.collect(),
            name,
            version,
        };
        draft.written(layout)
    })
}

/// A mesh file with any of its optional parts: it agrees with itself, and perhaps with no manifest.
pub fn mesh_file() -> impl Strategy<Value = TomlText<MeshFile>> {
    let nodes = || prop::collection::btree_set(node_name(), 0..=3);
    let modules = prop::collection::btree_map(module_name(), nodes(), 0..=4);
    let call = (module_name(), tool_name()).prop_map(|(module, tool)| ToolRef { module, tool });
    let call = call.prop_filter("the controller's", |call| !is_reserved_tool(call.tool.as_str()));
    let access = prop::option::of(prop::collection::vec(call, 0..=3));
    let people = prop::collection::btree_map(person_name(), access, 0..=3);
    let all = (nodes(), modules, people, layout());
    all.prop_map(|(nodes, modules, people, layout)| {
        let assignments = modules.iter().map(|(module, nodes)| assignment(module, nodes));
        let people = people.iter().map(|(name, access)| person(name.as_str(), access.as_deref()));
        file(layout, &nodes, assignments.collect(), people.collect())
    })
}

pub(super) fn assignment<'a, N: ToString + 'a>(
    module: &ModuleName,
    nodes: impl IntoIterator<Item = &'a N>,
) -> Table {
    let nodes = nodes.into_iter().map(ToString::to_string);
    vec![
        ("module", quoted(module.as_str())),
        ("manifest", quoted(&format!("modules/{module}.toml"))),
        ("nodes", strings(nodes)),
    ]
}

/// Somebody who may call these tools, or everything.
pub(super) fn person(name: &str, tools: Option<&[ToolRef]>) -> Table {
    let access = match tools {
        Some(tools) => ("tools", strings(tools)),
        None => ("administrator", "true".to_owned()),
    };
    vec![("name", quoted(name)), access]
}

pub(super) fn file<'a, N: AsRef<str> + 'a>(
    layout: Layout,
    nodes: impl IntoIterator<Item = &'a N>,
    assignments: Vec<Table>,
    people: Vec<Table>,
) -> TomlText<MeshFile> {
    let nodes = nodes.into_iter().map(|node| vec![("name", quoted(node.as_ref()))]);
    let tables =
        [("nodes", Vec::from_iter(nodes)), ("assignments", assignments), ("people", people)];
    // `nodes` must be there, and in sections nothing says that there are none.
    let mut text = document(layout, &Table::new(), &tables);
    if !text.contains("nodes]]") && !text.starts_with("nodes") {
        text.insert_str(0, "nodes = []\n");
    }
    TomlText::sound(text, |text| MeshFile::parse("mesh.toml", text))
}
