//! The example mesh is one that the program accepts, that its schemas describe, and that has what a
//! demonstration needs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

use std::fs;
use std::path::{Path, PathBuf};

use mesh_core::identity::Principal;
use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest, ProblemKind, ToolRef};
use mesh_core::name::{EventName, ModuleName};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn mesh() -> Mesh {
    let file = MeshFile::parse("mesh.toml", &read("crates/mesh-cli/example/mesh.toml")).unwrap();
    let manifests: Vec<ModuleManifest> = file
        .assignments
        .iter()
        .map(|assignment| {
            let text = read(&format!("crates/mesh-cli/example/{}", assignment.manifest));
            ModuleManifest::parse(&assignment.manifest, &text).unwrap()
        })
        .collect();
    Mesh::resolve(&file, &manifests).unwrap()
}

#[test]
fn the_example_mesh_has_something_of_everything() {
    let mesh = mesh();
    let module = |name: &str| ModuleName::new(name).unwrap();
    let tool = |text: &str| text.parse::<ToolRef>().unwrap();
    assert_eq!(mesh.nodes().len(), 2);
    assert_eq!(mesh.modules().filter(|module| !module.nodes.is_empty()).count(), 3);

    let reversed = EventName::new("entry.reversed").unwrap();
    let ledger = module("ledger");
    let consumers: Vec<String> =
        mesh.consumers_of(&ledger, &reversed).map(|consumer| consumer.to_string()).collect();
    assert_eq!(consumers, ["audit on north", "mail on north", "mail on south"]);

    let audit = Principal::Module { node: "north".parse().unwrap(), module: module("audit") };
    let mail = Principal::Module { node: "north".parse().unwrap(), module: module("mail") };
    assert!(mesh.may_call(&audit, &tool("ledger.balance")));
    assert!(!mesh.may_call(&mail, &tool("ledger.balance")));
    assert!(mesh.may_call(&audit, &tool("vault.open")), "granted");
    assert!(!mesh.is_served(&tool("vault.open")), "and nobody answers");

    let person = |name: &str| Principal::Person { name: name.parse().unwrap() };
    assert!(mesh.may_call(&person("alice"), &tool("ledger.post")));
    assert!(!mesh.may_call(&person("alice"), &tool("ledger.provision_grant")));
    assert!(mesh.may_call(&person("bob"), &tool("ledger.balance")));
    assert!(!mesh.may_call(&person("bob"), &tool("ledger.post")));
    assert!(!mesh.may_call(&person("mallory"), &tool("mail.send")));

    let kinds: Vec<&ProblemKind> = mesh.warnings().iter().map(|warning| &warning.kind).collect();
    let nowhere = ProblemKind::Nowhere(module("vault"));
    let nobody = ProblemKind::NobodyServes(tool("vault.open"));
    assert_eq!(kinds, [&nowhere, &nobody], "and nothing else");
}

#[test]
fn the_example_files_are_what_the_schemas_describe() {
    let schema = |name: &str| -> Value {
        serde_json::from_str(&read(&format!("docs/schema/{name}.schema.json"))).unwrap()
    };
    let check = |schema: &Value, path: &str| {
        let document: Value = toml::from_str(&read(path)).unwrap();
        assert_eq!(mistakes(schema, &document, path), Vec::<String>::new());
    };
    check(&schema("mesh"), "crates/mesh-cli/example/mesh.toml");
    for name in ["audit", "ledger", "mail", "vault"] {
        check(&schema("module"), &format!("crates/mesh-cli/example/modules/{name}.toml"));
    }
    let wrong = serde_json::json!({"name": 5, "tools": [{"name": "a", "x": 1}]});
    assert_eq!(
        mistakes(&schema("module"), &wrong, "m"),
        [
            "m: no version",
            "m.name: not a string",
            "m.tools[0]: no description",
            "m.tools[0].x: unknown",
        ]
    );
}

/// As much of JSON Schema as tells a wrong shape: `type`, `required`, `properties`, `items`,
/// `additionalProperties`, `minLength`.
fn mistakes(schema: &Value, value: &Value, path: &str) -> Vec<String> {
    let kind = schema["type"].as_str().unwrap();
    let fits = match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        other => panic!("{path}: the schema says {other}"),
    };
    if !fits {
        return vec![format!("{path}: not a {kind}")];
    }
    let mut found = Vec::new();
    let text = value.as_str().unwrap_or("x");
    if text.len() < usize::from(schema["minLength"] == 1) {
        found.push(format!("{path}: empty"));
    }
    for item in value.as_array().into_iter().flatten().enumerate() {
        found.extend(mistakes(&schema["items"], item.1, &format!("{path}[{}]", item.0)));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value.get(name.as_str().unwrap()).is_none() {
            found.push(format!("{path}: no {}", name.as_str().unwrap()));
        }
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        match schema["properties"].get(name) {
            Some(property) => found.extend(mistakes(property, value, &path)),
            None if schema["additionalProperties"] == false => {
                found.push(format!("{path}: unknown"));
            }
            None => {}
        }
    }
    found
}
