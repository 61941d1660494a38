//! Who is let in, and to what.

use super::Judgement;
use crate::conf::{Map, Node, Value};

/// How a bcrypt hash begins.
const BCRYPT: [&str; 4] = ["$2a$", "$2b$", "$2x$", "$2y$"];

/// What the server calls one thing of a user's, and takes whichever it comes to last, by chance (measured).
const NAMES: [&[&str]; 3] =
    [&["permissions", "permission", "authorization"], &["user", "username"], &["password", "pass"]];
/// The same of what its permissions say.
const SIDES: [&[&str]; 3] = [
    &["publish", "pub", "import"],
    &["subscribe", "sub", "export"],
    &["allow_responses", "publish_allow_responses"],
];

pub(super) fn judge(root: &Map, found: &mut Judgement) {
    outside(root, found);
    once(&[&["system_account", "system"]], "the file", root, found);
    let system = root.field("system_account").and_then(|node| node.value.text());
    let Some(node) = root.field("accounts") else {
        found.missing(
            "there are no accounts: everybody is let in, to everything",
            "write accounts with users in them",
        );
        return;
    };
    let Some(accounts) = node.value.map() else {
        return found.fault(node, "accounts is no map", "write accounts { NAME { … } }");
    };
    let mut users = 0;
    for (name, node) in accounts.iter() {
        if name.starts_with('$') {
            let problem = format!("account {name} is the server's own");
            found.fault(node, problem, "give the mesh's accounts names of their own");
        }
        users += account(name, node, system == Some(name), found);
    }
    if users == 0 {
        let problem = "no account has a user: a reload drops everybody, and a server that \
             starts so lets in everybody";
        found.fault(node, problem, "compose it with its users");
    }
}

/// Users that are in no account of the file are in `$G`, with all that it lets them.
fn outside(root: &Map, found: &mut Judgement) {
    if let Some(node) = root.field("authorization") {
        let more = node
            .value
            .map()
            .and_then(|map| map.iter().find(|(key, _)| !key.eq_ignore_ascii_case("timeout")));
        if let Some((key, inner)) = more {
            let problem =
                format!("authorization {{ {key} }} lets users into $G, outside of every account");
            found.fault(inner, problem, "write users in their accounts; here only timeout");
        } else if node.value.map().is_none() {
            found.fault(node, "authorization is no map", "write authorization { timeout: … }");
        }
    }
    for key in ["no_auth_user", "user", "username", "pass", "password", "token", "users"] {
        if let Some(node) = root.field(key) {
            let problem = format!("{key} lets in who has no user in an account");
            found.fault(node, problem, "take it away, and write users in their accounts");
        }
    }
}

/// How many users it has.
fn account(name: &str, node: &Node, is_system: bool, found: &mut Judgement) -> usize {
    let Some(map) = node.value.map() else { return 0 };
    if let Some(node) = map.field("default_permissions") {
        let problem = format!("account {name} gives rights to users who have none of their own");
        found.fault(node, problem, "write each user's permissions");
    }
    let lists = ["users", "nkeys"].into_iter().filter_map(|key| map.field(key));
    let mut count = 0;
    for node in lists {
        let users = node.value.list().unwrap_or_default();
        if users.is_empty() {
            let problem = format!(
                "account {name} has an empty list of users: nobody comes in there any more"
            );
            found.fault(node, problem, "write its users, or leave the list out");
        }
        for user in users {
            self::user(name, user, is_system, found);
        }
        count += users.len();
    }
    count
}

fn user(account: &str, node: &Node, is_system: bool, found: &mut Judgement) {
    let Some(map) = node.value.map() else {
        let problem = format!("a user of account {account} is no map");
        return found.fault(node, problem, "write { user: …, password: …, permissions: … }");
    };
    let text = |key| map.field(key).and_then(|node| node.value.text());
    let name = text("user").or(text("username")).or(text("nkey")).unwrap_or("without a name");
    let password = text("password").or(text("pass"));
    if password.is_some_and(|password| !BCRYPT.iter().any(|start| password.starts_with(start))) {
        let problem = format!("the password of {name} stands in the file as it is");
        found.warn(Some(node), problem, "keep hashes or nkeys there");
    }
    once(&NAMES, name, map, found);
    if is_system {
        return;
    }
    let permissions = map.field("permissions").or(map.field("permission"));
    let permissions = permissions.and_then(|node| node.value.map());
    if let Some(permissions) = permissions {
        once(&SIDES, name, permissions, found);
    }
    for (side, other) in [("publish", "pub"), ("subscribe", "sub")] {
        let rules = permissions.and_then(|map| map.field(side).or(map.field(other)));
        if !rules.is_some_and(|node| limits(&node.value)) {
            let problem =
                format!("{name} may {side} everything: nothing is written, or an empty list");
            found.fault(
                node,
                problem,
                format!("write {side} {{ deny: \">\" }} for nothing at all"),
            );
        }
    }
}

/// Sees that nothing stands there under two of its names.
fn once(things: &[&[&str]], whose: &str, map: &Map, found: &mut Judgement) {
    for names in things {
        let mut said = names.iter().filter_map(|name| map.field(name).map(|node| (name, node)));
        if let (Some((one, _)), Some((other, node))) = (said.next(), said.next()) {
            let problem =
                format!("{whose} has {one} and {other}, of which the server takes either");
            found.fault(node, problem, format!("write {one} alone"));
        }
    }
}

/// Whether one side of a user's permissions limits anything.
fn limits(rules: &Value) -> bool {
    let says = |value: &Value| match value {
        Value::Text(text) => !text.is_empty(),
        Value::List(list) => !list.is_empty(),
        _ => false,
    };
    match rules {
        // Deny alone allows all the rest: to be written on purpose, and then it is no accident.
        Value::Map(map) => {
            let allow = map.field("allow").map(|node| says(&node.value));
            let deny = map.field("deny").is_some_and(|node| says(&node.value));
            allow.unwrap_or(deny)
        }
        other => says(other),
    }
}
