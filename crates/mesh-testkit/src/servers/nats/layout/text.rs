//! A layout as nats-server reads it.

use std::collections::BTreeSet;

use mesh_core::permissions::{Permissions, Rules};
use mesh_core::topology::StreamName;

use super::{Account, Layout, User};
use crate::servers::nats::config::quoted;

/// What EDGE may publish into BUS, besides acknowledgements. `mesh.control.enrol` and
/// `mesh.control.built` are never named one by one: a relayed message passes such an import, and not
/// one with a wildcard (protocol §4).
const SERVICES: [&str; 4] =
    ["mesh.events.*.>", "mesh.control.*.report", "mesh.control.*", "mesh.control.*.alive"];

/// What an account with streams says.
const JETSTREAM: &str = "    jetstream: enabled\n";

/// The streams whose deliveries and acknowledgements cross: somebody in EDGE reads them.
const CROSSING: [StreamName; 3] = [StreamName::Events, StreamName::Nodes, StreamName::Builds];

pub(super) fn lines(layout: &Layout) -> String {
    let (exports, imports) = passages(&layout.services);
    let mut text = "system_account: SYS\naccounts {\n  SYS {}\n".to_owned();
    let mut accounts = vec![
        (Account::Bus, format!("    jetstream: enabled\n    exports: [\n{exports}    ]\n")),
        (
            Account::Edge,
            format!(
                "    limits {{ max_connections: {}, max_subscriptions: {} }}\n    \
                 imports: [\n{imports}    ]\n",
                layout.edge_connections, layout.edge_subscriptions
            ),
        ),
        (Account::Mesh, JETSTREAM.to_owned()),
        (Account::Backbone, String::new()),
    ];
    let own: BTreeSet<Account> = layout.users.iter().map(|user| user.account).collect();
    accounts.extend(own.into_iter().filter_map(|account| match account {
        Account::Realm(_) => Some((account, String::new())),
        Account::State(_) => Some((account, JETSTREAM.to_owned())),
        _ => None,
    }));
    for (account, more) in accounts {
        let users = layout.users.iter().filter(|user| user.account == account);
        let users: String = users.map(line).collect();
        // An account whose list of users is empty admits nobody, and the server takes it.
        if !users.is_empty() {
            text.push_str(&format!("  {account} {{\n{more}    users: [\n{users}    ]\n  }}\n"));
        }
    }
    text + "}\n"
}

/// What BUS exports to EDGE, and EDGE imports from BUS.
fn passages(more: &[String]) -> (String, String) {
    let services = SERVICES.iter().map(|subject| (*subject).to_owned());
    let acks = CROSSING.map(|stream| format!("$JS.ACK.{stream}.>"));
    let new_acks = CROSSING.map(|stream| format!("$JS.ACK.*.*.{stream}.>"));
    let services = services.chain(acks).chain(new_acks).chain(more.iter().cloned());
    let deliveries = CROSSING.map(|stream| ("stream", format!("mesh.deliver.{stream}.*")));
    services
        .map(|subject| ("service", subject))
        .chain(deliveries)
        .map(|(kind, subject)| {
            let subject = quoted(&subject);
            (
                format!("      {{ {kind}: {subject}, accounts: [EDGE] }}\n"),
                format!("      {{ {kind}: {{ account: BUS, subject: {subject} }} }}\n"),
            )
        })
        .unzip()
}

fn line(user: &User) -> String {
    format!(
        "      {{ user: {}, password: {}, allowed_connection_types: [\"STANDARD\"], permissions: {} }}\n",
        quoted(user.name()),
        quoted(user.password().expose()),
        permissions(&user.permissions),
    )
}

/// A user's permissions as nats-server reads them. An empty list would allow everything.
fn permissions(permissions: &Permissions) -> String {
    let Permissions { publish, subscribe } = permissions;
    format!("{{ publish: {}, subscribe: {} }}", rules(publish), rules(subscribe))
}

fn rules(rules: &Rules) -> String {
    if rules.allowed().is_empty() {
        return "{ deny: \">\" }".to_owned();
    }
    let allowed = rules.allowed().iter().map(|rule| match &rule.group {
        Some(group) => quoted(&format!("{} {group}", rule.filter)),
        None => quoted(rule.filter.as_str()),
    });
    let mut text = format!("{{ allow: [{}]", allowed.collect::<Vec<_>>().join(", "));
    let denied: Vec<_> = rules.denied().iter().map(|filter| quoted(filter.as_str())).collect();
    if !denied.is_empty() {
        text.push_str(&format!(", deny: [{}]", denied.join(", ")));
    }
    text + " }"
}
