//! What a reload can't change: the server refuses it although its own check passes, or does harm with it.

use crate::conf::{Conf, Map, Node};

use super::judge::has_streams;

/// Settings that count as a whole.
const FIXED: [&str; 12] = [
    "server_name",
    "name",
    "listen",
    "http",
    "system_account",
    "cluster",
    "gateway",
    "leafnodes",
    "leafnode",
    "leaf",
    "websocket",
    "mqtt",
];

/// What of JetStream a reload changes in place.
const LIMITS: [&str; 8] = [
    "max_memory_store",
    "max_mem_store",
    "max_mem",
    "max_memory",
    "max_file_store",
    "max_file",
    "max_store",
    "max_disk",
];

/// What differs and needs a restart, each named with its line; none if a reload will do.
pub(super) fn that_need_a_restart(running: &Conf, next: &Conf) -> Vec<String> {
    let (was, is) = (running.root(), next.root());
    let mut found: Vec<String> = FIXED
        .into_iter()
        .filter(|key| !same(was.field(key), is.field(key)))
        .map(|key| named(key, is.field(key)))
        .collect();
    streams(was, is, &mut found);
    found
}

fn streams(was: &Map, is: &Map, found: &mut Vec<String>) {
    let (before, after) = (was.field("jetstream"), is.field("jetstream"));
    match (before, after) {
        // A reload does as it is told: JetStream ends, and whoever waits for a confirmation waits.
        (Some(_), None) => found.push("jetstream is gone: its streams would stop".to_owned()),
        (None, Some(node)) => found.push(format!("jetstream (line {})", node.line)),
        _ => {}
    }
    if let (Some(before), Some(after)) = (before.and_then(map), after.and_then(map)) {
        let mut keys: Vec<String> = Vec::new();
        for (key, _) in before.iter().chain(after.iter()) {
            let key = key.to_ascii_lowercase();
            if !keys.contains(&key) && !LIMITS.contains(&key.as_str()) {
                keys.push(key);
            }
        }
        let other = keys.iter().filter(|key| !same(before.field(key), after.field(key)));
        found.extend(other.map(|key| named(&format!("jetstream.{key}"), after.field(key))));
    }
    let accounts = |root| Map::field(root, "accounts").and_then(map);
    let (before, after) = (accounts(was), accounts(is));
    for (name, _) in before.into_iter().flat_map(Map::iter).filter(|(_, node)| has_streams(node)) {
        // Names of accounts differ by case.
        let still = after.into_iter().flat_map(Map::iter).find(|(other, _)| *other == name);
        if !still.is_some_and(|(_, node)| has_streams(node)) {
            found.push(format!("account {name} has no JetStream any more: its streams would stop"));
        }
    }
}

fn map(node: &Node) -> Option<&Map> {
    node.value.map()
}

fn named(key: &str, node: Option<&Node>) -> String {
    match node {
        Some(node) => format!("{key} (line {})", node.line),
        None => format!("{key} is gone"),
    }
}

/// Whether two settings say the same, wherever they stand.
fn same(was: Option<&Node>, is: Option<&Node>) -> bool {
    match (was, is) {
        (None, None) => true,
        (Some(was), Some(is)) => was.value.says_the_same(&is.value),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: &str = "server_name: a; listen: \"1.1.1.1:1\"\nhttp: \"127.0.0.1:2\"\n\
        jetstream { store_dir: j, max_mem: 1MB }\nsystem_account: S\n\
        accounts { S {}, B { jetstream: enabled }, E { users: [{ user: a }] } }\n";

    fn needed(from: &str, to: &str) -> Vec<String> {
        assert!(RUNNING.contains(from), "{from}");
        let next = RUNNING.replacen(from, to, 1);
        that_need_a_restart(&Conf::read(RUNNING).unwrap(), &Conf::read(&next).unwrap())
    }

    #[test]
    fn users_limits_and_lines_need_none() {
        for (from, to) in [
            ("user: a }", "user: b }, { user: c }"),
            ("1MB", "2MB"),
            ("server_name: a;", "\n# told\nserver_name: 'a'\n"),
            (", E {", ", F { users: [{ user: x }] }, E {"),
        ] {
            assert_eq!(needed(from, to), [""; 0], "{to}");
        }
    }

    #[test]
    fn what_a_reload_refuses_or_would_stop_is_named_with_its_line() {
        for (from, to, told) in [
            ("server_name: a", "server_name: b", "server_name (line 1)"),
            ("1.1.1.1:1", "1.1.1.1:2", "listen (line 1)"),
            ("127.0.0.1:2", "127.0.0.1:3", "http (line 2)"),
            ("store_dir: j", "store_dir: k", "jetstream.store_dir (line 3)"),
            ("max_mem: 1MB", "strict: false", "jetstream.strict (line 3)"),
            ("system_account: S\n", "", "system_account is gone"),
            ("system_account: S", "cluster { name: c }\nsystem_account: S", "cluster (line 4)"),
            (
                "jetstream { store_dir: j, max_mem: 1MB }",
                "",
                "jetstream is gone: its streams would stop",
            ),
            (
                "B { jetstream: enabled }, ",
                "",
                "account B has no JetStream any more: its streams would stop",
            ),
            ("B {", "b {", "account B has no JetStream any more: its streams would stop"),
        ] {
            assert_eq!(needed(from, to), [told], "{to}");
        }
    }
}
