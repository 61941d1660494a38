//! The server's configuration. Only for tests: the one that a mesh runs with is composed elsewhere.

use std::fmt::Write as _;

use mesh_core::permissions::{Permissions, Rules};
use mesh_testkit::servers::nats::Place;

use super::{Mesh, Side};

/// Whether streams and everybody else share an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    Split,
    OneAccount,
}

/// How the server is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub isolation: Isolation,
    /// Whether deliveries carry the second form of acknowledgement addresses.
    pub second_form: bool,
    /// Whether JetStream refuses what it does not know.
    pub strict: bool,
    /// Also imports this subject literally: what must never be done.
    pub literal: Option<&'static str>,
    /// How many connections the account may have that modules are in.
    pub connections: u32,
    /// And each of them subscriptions: the server counts an account's limit by connection.
    pub subscriptions: u32,
}

impl Layout {
    pub const fn of(isolation: Isolation) -> Self {
        Self {
            isolation,
            second_form: false,
            strict: true,
            literal: None,
            connections: 1000,
            subscriptions: 10_000,
        }
    }

    pub const fn split() -> Self {
        Self::of(Isolation::Split)
    }
}

/// Streams whose deliveries and acknowledgements cross from BUS to EDGE.
const CROSSING: [&str; 3] = ["EVENTS", "NODES", "BUILDS"];

/// The whole file.
pub fn compose(layout: &Layout, mesh: &Mesh, place: &Place) -> String {
    let path = |path: &std::path::Path| quoted(&path.to_string_lossy());
    let mut text = format!(
        "server_name: {}\nsystem_account: SYS\nlisten: {}\nhttp: {}\nmax_payload: 1MB\n\
         ping_interval: \"20s\"\nauthorization {{ timeout: 10 }}\n\
         jetstream {{ store_dir: {}, max_memory_store: 64MB, max_file_store: 8GB, strict: {} }}\n\
         feature_flags {{ js_ack_fc_v2: {} }}\n",
        quoted(&place.name),
        quoted(&place.client.to_string()),
        quoted(&place.monitoring.to_string()),
        path(&place.store),
        layout.strict,
        layout.second_form,
    );
    if let Some((certificate, key)) = &place.certificate {
        _ = writeln!(
            text,
            "tls {{ cert_file: {}, key_file: {}, min_version: \"1.2\", timeout: 5 }}",
            path(certificate),
            path(key)
        );
    }
    let sys = "SYS { users: [ { user: \"sys\", password: \"sys\" } ] }";
    let users = |side: Option<Side>| {
        let of = mesh.users.iter().filter(|user| side.is_none_or(|side| user.side == side));
        of.map(|user| entry(user.name, &user.password(), &user.permissions)).collect::<String>()
    };
    let limits = format!(
        "limits {{ max_connections: {}, max_subscriptions: {} }}",
        layout.connections, layout.subscriptions
    );
    match layout.isolation {
        Isolation::OneAccount => {
            _ = writeln!(
                text,
                "accounts {{ {sys}\nMESH {{ jetstream: enabled\n{limits}\nusers: [\n{}] }} }}",
                users(None)
            );
        }
        Isolation::Split => {
            let (exports, imports) = crossing(layout.literal);
            _ = writeln!(
                text,
                "accounts {{ {sys}\n\
                 BUS {{ jetstream: enabled\nusers: [\n{}]\nexports: [\n{exports}] }}\n\
                 EDGE {{ {limits}\nusers: [\n{}]\nimports: [\n{imports}] }} }}",
                users(Some(Side::Bus)),
                users(Some(Side::Edge)),
            );
        }
    }
    text
}

/// What BUS exports and EDGE imports, and nothing else crosses.
fn crossing(literal: Option<&str>) -> (String, String) {
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

fn entry(name: &str, password: &str, permissions: &Permissions) -> String {
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
