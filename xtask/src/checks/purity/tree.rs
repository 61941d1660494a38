//! What lies below a crate, and who depends on whom in the workspace.

use std::collections::{BTreeMap, BTreeSet};

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
    "libsqlite3-sys",
    "mio",
    "polling",
    "rusqlite",
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

/// What a crate needs to be built, tests left out, as `cargo tree` tells it. `cargo metadata` won't do: it
/// counts in what a package would bring if another were there.
pub(super) struct Below {
    /// The way to each package, from the crate on; the shortest comes first.
    ways: BTreeMap<String, Vec<String>>,
}

impl Below {
    /// Reads what `cargo tree --prefix depth` prints.
    pub(super) fn new(printed: &str) -> Result<Self, Failure> {
        let mut ways: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut way: Vec<String> = Vec::new();
        for line in printed.lines().filter(|line| !line.is_empty()) {
            let read = || {
                let (depth, package) = line.split_once(' ')?;
                let name = package.split(' ').next()?;
                Some((depth.parse::<usize>().ok()?, name.to_owned()))
            };
            let (depth, name) = read()
                .filter(|(depth, _)| *depth <= way.len())
                .ok_or_else(|| Failure::new(format!("cargo tree prints {line:?}")))?;
            way.truncate(depth);
            way.push(name.clone());
            let known = ways.entry(name).or_insert_with(|| way.clone());
            if way.len() < known.len() {
                known.clone_from(&way);
            }
        }
        if ways.is_empty() {
            return Err(Failure::new("cargo tree prints nothing"));
        }
        Ok(Self { ways })
    }

    /// Banned packages, each with the way to it.
    pub(super) fn banned(&self) -> Vec<String> {
        self.ways
            .iter()
            .filter(|(name, _)| BANNED.contains(&name.as_str()))
            .map(|(_, way)| format!("depends on {}", way.join(" → ")))
            .collect()
    }

    /// How many packages there are, the crate itself left out.
    pub(super) fn count(&self) -> usize {
        self.ways.len().saturating_sub(1)
    }
}

/// Who depends on whom among the crates of the workspace, tests left out.
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
