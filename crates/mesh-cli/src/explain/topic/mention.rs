//! Where a mesh's files speak of a subject.

use std::fmt;

use mesh_core::manifest::{EventPattern, Mesh, ModuleManifest, ToolRef};
use mesh_core::name::{EventName, ModuleName, NodeName};
use mesh_core::topology::MeshSubject;
use serde::Serialize;

/// A module that has to do with a subject, and where its manifest says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Mention {
    module: String,
    /// `emits`, `consumes`, `serves` or `calls`.
    verb: &'static str,
    /// As it is written.
    text: String,
    file: String,
    /// From 1.
    line: usize,
    /// In characters, from 1.
    column: usize,
    /// The nodes that run it.
    nodes: Vec<String>,
}

impl fmt::Display for Mention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { module, verb, text, file, line, column, nodes } = self;
        let on = match nodes.as_slice() {
            [] => "nowhere".to_owned(),
            nodes => format!("on {}", nodes.join(", ")),
        };
        write!(f, "{module} ({on}) {verb} {text}: {file}:{line}:{column}")
    }
}

/// Every module whose manifest speaks of it.
pub(super) fn of(subject: &MeshSubject, mesh: &Mesh) -> Vec<Mention> {
    match subject {
        MeshSubject::Event { module, event } => of_event(module, event, mesh),
        MeshSubject::Replay { module, event, .. } => of_event(module, event, mesh),
        MeshSubject::Tool { module, tool } => {
            of_tool(&ToolRef { module: module.clone(), tool: tool.clone() }, mesh)
        }
        _ => Vec::new(),
    }
}

/// Every event that a pattern takes, and every module that consumes one of those.
pub(super) fn of_pattern(pattern: &EventPattern, mesh: &Mesh) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    for assigned in mesh.modules() {
        let ModuleManifest { name, emits, .. } = &assigned.manifest;
        for event in emits.iter().filter(|event| pattern.matches(name, event)) {
            for mention in of_event(name, event, mesh) {
                if !found.contains(&mention) {
                    found.push(mention);
                }
            }
        }
    }
    found
}

fn of_event(module: &ModuleName, event: &EventName, mesh: &Mesh) -> Vec<Mention> {
    let mut found = Vec::new();
    for assigned in mesh.modules() {
        let manifest = &assigned.manifest;
        let mut add = |verb, index, text: &str| {
            let field = format!("{verb}[{index}]");
            found.push(mention(manifest, &assigned.nodes, verb, &field, text));
        };
        if manifest.name == *module {
            for (index, _) in
                manifest.emits.iter().enumerate().filter(|(_, emitted)| *emitted == event)
            {
                add("emits", index, event.as_str());
            }
        }
        for (index, pattern) in manifest.consumes.iter().enumerate() {
            if pattern.matches(module, event) {
                add("consumes", index, pattern.as_str());
            }
        }
    }
    found
}

fn of_tool(tool: &ToolRef, mesh: &Mesh) -> Vec<Mention> {
    let mut found = Vec::new();
    for assigned in mesh.modules() {
        let manifest = &assigned.manifest;
        if manifest.name == tool.module {
            let served = manifest.tools.iter().enumerate().filter(|(_, own)| own.name == tool.tool);
            for (index, own) in served {
                let field = format!("tools[{index}].name");
                let name = own.name.as_str();
                found.push(mention(manifest, &assigned.nodes, "serves", &field, name));
            }
        }
        let calls = manifest.calls.iter().enumerate().filter(|(_, called)| *called == tool);
        for (index, called) in calls {
            let field = format!("calls[{index}]");
            found.push(mention(manifest, &assigned.nodes, "calls", &field, &called.to_string()));
        }
    }
    found
}

fn mention(
    manifest: &ModuleManifest,
    nodes: &[NodeName],
    verb: &'static str,
    field: &str,
    text: &str,
) -> Mention {
    let (line, column) = manifest.place(field);
    Mention {
        module: manifest.name.to_string(),
        verb,
        text: text.to_owned(),
        file: manifest.file().to_owned(),
        line,
        column,
        nodes: nodes.iter().map(ToString::to_string).collect(),
    }
}
