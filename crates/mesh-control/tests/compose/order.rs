//! The same bytes for the same files, whatever order anything has.

use mesh_control::compose::Place;
use proptest::prelude::*;
use proptest::sample::subsequence;

use super::*;

/// A module's lists, and where it runs.
#[derive(Clone, Debug)]
struct Module {
    name: String,
    emits: Vec<String>,
    consumes: Vec<String>,
    calls: Vec<String>,
    tools: Vec<String>,
    nodes: Vec<String>,
}

#[derive(Clone, Debug)]
struct Files {
    nodes: Vec<String>,
    modules: Vec<Module>,
    people: Vec<(String, Vec<String>)>,
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|item| format!("'{item}'")).collect::<Vec<_>>().join(", "))
}

impl Files {
    fn mesh(&self) -> String {
        let nodes = self.nodes.iter().map(|name| format!("{{ name = '{name}' }}"));
        let modules = self.modules.iter().map(|module| {
            let Module { name, nodes, .. } = module;
            format!("{{ module = '{name}', manifest = '{name}.toml', nodes = {} }}", list(nodes))
        });
        let people = self
            .people
            .iter()
            .map(|(name, tools)| format!("{{ name = '{name}', tools = {} }}", list(tools)));
        let joined = |items: Vec<String>| items.join(", ");
        format!(
            "nodes = [{}]\nassignments = [{}]\npeople = [{}]",
            joined(nodes.collect()),
            joined(modules.collect()),
            joined(people.collect())
        )
    }

    fn manifests(&self) -> Vec<(String, String)> {
        let modules = self.modules.iter().map(|module| {
            let tools: Vec<String> = module
                .tools
                .iter()
                .map(|name| format!("{{ name = '{name}', description = 'x' }}"))
                .collect();
            let text = format!(
                "name = '{}'\nversion = '1'\nemits = {}\nconsumes = {}\ncalls = {}\ntools = [{}]",
                module.name,
                list(&module.emits),
                list(&module.consumes),
                list(&module.calls),
                tools.join(", ")
            );
            (format!("{}.toml", module.name), text)
        });
        modules.collect()
    }

    fn text(&self) -> String {
        let files = self.manifests();
        let sources: Vec<_> = files.iter().map(|(file, text)| Source { file, text }).collect();
        let composed = compose(&self.mesh(), &sources);
        assert!(composed.refused().is_empty(), "{:?}", composed.refused());
        composed.nats(&hashes(&composed), &Place::default()).unwrap()
    }
}

fn some(of: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let some = subsequence(of, 0..=of.len());
    some.prop_map(|some| some.into_iter().map(str::to_owned).collect()).prop_shuffle()
}

fn module(name: &'static str) -> impl Strategy<Value = Module> {
    const CALLS: &[&str] = &["m1.t", "m2.t", "m3.u", "m9.x"];
    let calls = some(CALLS).prop_map(move |mut calls| {
        calls.retain(|call| !call.starts_with(name));
        calls
    });
    let lists =
        (some(&["a", "b.c", "d"]), some(&["m1.a", "*.b.c", "m2.>"]), calls, some(&["t", "u", "V"]));
    (lists, some(&["n1", "n2", "n3"])).prop_map(move |((emits, consumes, calls, tools), nodes)| {
        Module { name: name.to_owned(), emits, consumes, calls, tools, nodes }
    })
}

fn files() -> impl Strategy<Value = Files> {
    let people = some(&["m1.t", "m2.u"]).prop_map(|tools| ("ada".to_owned(), tools));
    let modules = (module("m1"), module("m2"), module("m3"));
    (modules, people).prop_map(|((one, two, three), person)| Files {
        nodes: ["n1", "n2", "n3"].map(str::to_owned).to_vec(),
        modules: vec![one, two, three],
        people: vec![person, ("bob".to_owned(), Vec::new())],
    })
}

/// Those files with every list in another order.
fn shuffled() -> impl Strategy<Value = (Files, Files)> {
    files().prop_flat_map(|files| {
        let each = |module: &Module| {
            let Module { name, emits, consumes, calls, tools, nodes } = module.clone();
            let lists = (
                Just(emits).prop_shuffle(),
                Just(consumes).prop_shuffle(),
                Just(calls).prop_shuffle(),
                Just(tools).prop_shuffle(),
                Just(nodes).prop_shuffle(),
            );
            lists.prop_map(move |(emits, consumes, calls, tools, nodes)| Module {
                name: name.clone(),
                emits,
                consumes,
                calls,
                tools,
                nodes,
            })
        };
        let modules: Vec<_> = files.modules.iter().map(each).collect();
        let parts = (Just(files.nodes.clone()).prop_shuffle(), modules.prop_shuffle());
        let people = Just(files.people.clone()).prop_shuffle();
        (Just(files), parts, people)
            .prop_map(|(files, (nodes, modules), people)| (files, Files { nodes, modules, people }))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_order_of_anything_changes_a_byte((one, other) in shuffled()) {
        prop_assert_eq!(one.text(), other.text());
    }

    #[test]
    fn what_is_added_shows(files in files()) {
        let before = files.text();
        let mut more = files;
        more.modules[0].nodes = vec!["n1".to_owned()];
        more.modules[0].emits = vec!["added".to_owned()];
        let after = more.text();
        prop_assert!(!before.contains("mesh.events.m1.added") && after.contains("mesh.events.m1.added"));
    }
}
