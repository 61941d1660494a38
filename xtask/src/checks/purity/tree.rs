//! The dependency tree as `cargo metadata` tells it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use crate::run::Failure;

/// What `mesh-core` may not depend on, at any depth.
///
/// Not among them: `futures-timer` and `web-time`, which `governor` brings with its `std` feature
/// and which nothing calls when time is passed in.
const BANNED: &[&str] = &[
    // Runtimes.
    "async-executor",
    "async-global-executor",
    "async-std",
    "compio",
    "embassy-executor",
    "futures-executor",
    "glommio",
    "monoio",
    "smol",
    "tokio",
    "tokio-util",
    // I/O.
    "async-io",
    "io-uring",
    "mio",
    "polling",
    "socket2",
    "tempfile",
    // Clients and protocols on a wire.
    "amqprs",
    "async-nats",
    "curl",
    "h2",
    "hyper",
    "lapin",
    "native-tls",
    "nats",
    "openssl",
    "rdkafka",
    "redis",
    "reqwest",
    "rustls",
    "tonic",
    "tungstenite",
    "ureq",
    // Clocks and randomness of the machine.
    "coarsetime",
    "fastrand",
    "getrandom",
    "quanta",
    "rand",
];

/// Who depends on whom in a build, tests left out.
pub(super) struct Tree {
    names: BTreeMap<String, String>,
    needs: BTreeMap<String, Vec<String>>,
    members: BTreeSet<String>,
    published: BTreeSet<String>,
}

impl Tree {
    pub(super) fn new(metadata: &Value) -> Result<Self, Failure> {
        let mut tree = Self {
            names: BTreeMap::new(),
            needs: BTreeMap::new(),
            members: BTreeSet::new(),
            published: BTreeSet::new(),
        };
        for package in list(metadata, "/packages")? {
            let id = text(package, "/id")?;
            if package["publish"].is_null() {
                tree.published.insert(id.clone());
            }
            tree.names.insert(id, text(package, "/name")?);
        }
        for node in list(metadata, "/resolve/nodes")? {
            let mut needs = Vec::new();
            for dependency in list(node, "/deps")? {
                let kinds = list(dependency, "/dep_kinds")?;
                if kinds.iter().any(|kind| kind["kind"] != "dev") {
                    needs.push(text(dependency, "/pkg")?);
                }
            }
            tree.needs.insert(text(node, "/id")?, needs);
        }
        for member in list(metadata, "/workspace_members")? {
            tree.members.insert(text(member, "")?);
        }
        Ok(tree)
    }

    /// Banned packages below the workspace's crate of that name, each with the way to it.
    pub(super) fn banned_below(&self, root: &str) -> Result<Vec<String>, Failure> {
        let ways = self.ways_below(root)?;
        Ok(ways
            .values()
            .filter(|way| way.last().is_some_and(|name| BANNED.contains(name)))
            .map(|way| format!("depends on {}", way.join(" → ")))
            .collect())
    }

    pub(super) fn count_below(&self, root: &str) -> Result<usize, Failure> {
        Ok(self.ways_below(root)?.len().saturating_sub(1))
    }

    /// Dependencies between crates of the workspace that point outwards: the core depends on none,
    /// and of those that are published only the program names a transport.
    pub(super) fn outward_arrows(&self) -> Vec<String> {
        let mut found = Vec::new();
        for id in self.members.intersection(&self.published) {
            let name = self.name(id);
            for need in self.needs.get(id).into_iter().flatten() {
                let other = self.name(need);
                let outward = name == super::PURE
                    || (other.starts_with("mesh-transport-") && name != "mesh-cli");
                if outward && self.members.contains(need) {
                    found.push(format!("{name} may not depend on {other}"));
                }
            }
        }
        found
    }

    /// A shortest way to each package below `root`, by its names from `root` on.
    fn ways_below<'a>(&'a self, root: &'a str) -> Result<BTreeMap<&'a str, Vec<&'a str>>, Failure> {
        let start = self
            .members
            .iter()
            .find(|id| self.name(id) == root)
            .ok_or_else(|| Failure::new(format!("no crate {root} in the workspace")))?;
        let mut ways = BTreeMap::from([(start.as_str(), vec![root])]);
        let mut queue = VecDeque::from([start.as_str()]);
        while let Some(id) = queue.pop_front() {
            let way = ways.get(id).cloned().unwrap_or_default();
            for need in self.needs.get(id).into_iter().flatten() {
                if !ways.contains_key(need.as_str()) {
                    let mut longer = way.clone();
                    longer.push(self.name(need));
                    ways.insert(need, longer);
                    queue.push_back(need);
                }
            }
        }
        Ok(ways)
    }

    fn name<'a>(&'a self, id: &'a str) -> &'a str {
        self.names.get(id).map_or(id, String::as_str)
    }
}

fn list<'a>(value: &'a Value, pointer: &str) -> Result<&'a Vec<Value>, Failure> {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .ok_or_else(|| Failure::new(format!("cargo metadata has no list {pointer}")))
}

fn text(value: &Value, pointer: &str) -> Result<String, Failure> {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .map(str::to_owned)
        .ok_or_else(|| Failure::new(format!("cargo metadata has no text {pointer}")))
}
