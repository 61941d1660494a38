//! Manifests and mesh files, beside another reader of TOML.

use std::time::Duration;

use mesh_core::manifest::{Access, MeshFile, ModuleManifest};
use mesh_testkit::strategies::*;
use proptest::prelude::*;
use toml::{Table, Value};

use crate::cases;

fn texts(table: &Table, key: &str) -> Vec<String> {
    let items = table.get(key).and_then(Value::as_array);
    let items = items.into_iter().flatten().map(|item| item.as_str().unwrap());
    items.map(str::to_owned).collect()
}

fn tables<'t>(table: &'t Table, key: &str) -> Vec<&'t Table> {
    let items = table.get(key).and_then(Value::as_array);
    items.into_iter().flatten().map(|item| item.as_table().unwrap()).collect()
}

fn shown<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(T::to_string).collect()
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn a_manifest_says_what_its_text_says(written in module_manifest()) {
        let table: Table = written.text.parse().unwrap();
        let manifest = written.value;
        prop_assert_eq!(&ModuleManifest::parse(manifest.file(), &written.text).unwrap(), &manifest);
        prop_assert_eq!(table["name"].as_str(), Some(manifest.name.as_str()));
        prop_assert_eq!(table["version"].as_str(), Some(&*manifest.version));
        prop_assert_eq!(texts(&table, "emits"), shown(&manifest.emits));
        prop_assert_eq!(texts(&table, "consumes"), shown(&manifest.consumes));
        prop_assert_eq!(texts(&table, "calls"), shown(&manifest.calls));
        let tools = tables(&table, "tools");
        prop_assert_eq!(tools.len(), manifest.tools.len());
        for (said, tool) in tools.into_iter().zip(&manifest.tools) {
            prop_assert_eq!(said["name"].as_str(), Some(tool.name.as_str()));
            prop_assert_eq!(said["description"].as_str(), Some(&*tool.description));
            let repeatable = said.get("repeatable").and_then(Value::as_bool);
            prop_assert_eq!(repeatable.unwrap_or(false), tool.repeatable);
            prop_assert_eq!(said.contains_key("output"), tool.output.is_some());
            prop_assert!(tool.timeout >= Duration::from_millis(1));
            prop_assert_eq!(manifest.tool(&tool.name), Some(tool));
        }
        let provides = tables(&table, "provides");
        prop_assert_eq!(provides.len(), manifest.provides.len());
        for (said, provision) in provides.into_iter().zip(&manifest.provides) {
            prop_assert_eq!(said["name"].as_str(), Some(provision.name.as_str()));
            prop_assert_eq!(&texts(said, "credential"), &provision.credential);
        }
        let requires = tables(&table, "requires");
        prop_assert_eq!(requires.len(), manifest.requires.len());
        for (said, requirement) in requires.into_iter().zip(&manifest.requires) {
            let from = said.get("from").and_then(Value::as_str);
            prop_assert_eq!(from, requirement.from.as_ref().map(|name| name.as_str()));
            let added: serde_json::Value = requirement.contributes.decode().unwrap();
            let said = said.get("contributes").cloned().unwrap_or(Value::Table(Table::new()));
            prop_assert_eq!(serde_json::to_value(said).unwrap(), added);
        }
    }

    #[test]
    fn a_mesh_file_says_what_its_text_says(written in mesh_file()) {
        let table: Table = written.text.parse().unwrap();
        let file = written.value;
        prop_assert_eq!(&MeshFile::parse(file.file(), &written.text).unwrap(), &file);
        let names = |key| tables(&table, key).iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        prop_assert_eq!(names("nodes"), shown(&file.nodes));
        let assignments = tables(&table, "assignments");
        prop_assert_eq!(assignments.len(), file.assignments.len());
        for (said, assignment) in assignments.into_iter().zip(&file.assignments) {
            prop_assert_eq!(said["module"].as_str(), Some(assignment.module.as_str()));
            prop_assert_eq!(texts(said, "nodes"), shown(&assignment.nodes));
        }
        let people = tables(&table, "people");
        prop_assert_eq!(people.len(), file.people.len());
        for (said, person) in people.into_iter().zip(&file.people) {
            prop_assert_eq!(said["name"].as_str(), Some(person.name.as_str()));
            match &person.access {
                Access::Administrator => prop_assert!(said.contains_key("administrator")),
                Access::Tools(tools) => prop_assert_eq!(texts(said, "tools"), shown(tools)),
            }
        }
    }

    #[test]
    fn an_unknown_key_is_refused_where_it_stands(written in module_manifest()) {
        let text = format!("surplus = 1\n{}", written.text);
        let problems = ModuleManifest::parse("m.toml", &text).unwrap_err();
        prop_assert_eq!(problems.len(), 1);
        prop_assert_eq!((problems[0].line, problems[0].column), (1, 1));
        prop_assert!(problems[0].to_string().contains("surplus"), "{}", problems[0]);
    }
}
