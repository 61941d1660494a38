//! Parts of a server's configuration: permissions, and what crosses between the accounts of the split
//! layout (protocol §4). Only for tests: what a mesh runs with is composed elsewhere.

use std::fmt::Write as _;

use mesh_core::permissions::{Permissions, Rules};

/// Streams whose deliveries and acknowledgements cross from BUS to EDGE.
const CROSSING: [&str; 3] = ["EVENTS", "NODES", "BUILDS"];

/// The entries that BUS exports and that EDGE imports; nothing else crosses. `literal` is one more
/// service, for those who show why there must be none.
pub fn crossing(literal: Option<&str>) -> (String, String) {
    let mut services: Vec<String> =
        ["mesh.events.*.>", "mesh.control.*.report", "mesh.control.*", "mesh.control.*.alive"]
            .map(str::to_owned)
            .into();
    services.extend(CROSSING.map(|stream| format!("$JS.ACK.{stream}.>")));
    services.extend(CROSSING.map(|stream| format!("$JS.ACK.*.*.{stream}.>")));
    services.extend(literal.map(str::to_owned));
    let streams = CROSSING.map(|stream| format!("mesh.deliver.{stream}.*"));
    let (mut exports, mut imports) = (String::new(), String::new());
    for (kind, subjects) in [("service", services.as_slice()), ("stream", streams.as_slice())] {
        for subject in subjects.iter().map(|subject| quoted(subject)) {
            _ = writeln!(exports, "{{ {kind}: {subject}, accounts: [EDGE] }}");
            _ = writeln!(imports, "{{ {kind}: {{ account: BUS, subject: {subject} }} }}");
        }
    }
    (exports, imports)
}

/// A user's entry.
pub fn user(name: &str, password: &str, permissions: &Permissions) -> String {
    format!(
        "{{ user: {}, password: {}, allowed_connection_types: [\"STANDARD\"], \
         permissions: {{ publish: {}, subscribe: {} }} }}\n",
        quoted(name),
        quoted(password),
        side(&permissions.publish),
        side(&permissions.subscribe)
    )
}

/// One side of somebody's permissions. To the server an empty list would allow everything.
fn side(rules: &Rules) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    if rules.allowed().is_empty() {
        return "{ deny: \">\" }".to_owned();
    }
    let allowed = rules.allowed().iter().map(|rule| match &rule.group {
        Some(group) => quoted(&format!("{} {group}", rule.filter)),
        None => quoted(rule.filter.as_str()),
    });
    let denied: Vec<_> = rules.denied().iter().map(|filter| quoted(filter.as_str())).collect();
    let denied =
        if denied.is_empty() { String::new() } else { format!(", deny: {}", list(denied)) };
    format!("{{ allow: {}{denied} }}", list(allowed.collect()))
}

/// A value as the server reads it back: unquoted text may be a number, a date, a size or a boolean.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}
