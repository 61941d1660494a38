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
    // Clocks and randomness of the machine.
    "coarsetime",
    "fastrand",
    "getrandom",
    "quanta",
    "rand",
];

/// Clients, protocols on a wire, and the adapters that bring them: not below `mesh-core` either, and not
/// below `mesh-sdk` unless a feature asks for them.
const CLIENTS: &[&str] = &[
    "amqprs",
    "async-nats",
    "curl",
    "h2",
    "hyper",
    "lapin",
    "libsqlite3-sys",
    "mesh-session",
    "mesh-store",
    "mesh-tls",
    "mesh-transport-amqp",
    "mesh-transport-mem",
    "mesh-transport-nats",
    "native-tls",
    "nats",
    "openssl",
    "rdkafka",
    "redis",
    "reqwest",
    "rusqlite",
    "rustls",
    "tonic",
    "tungstenite",
    "ureq",
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

    /// Packages that the core may not have, each with the way to it.
    pub(super) fn impure(&self) -> Vec<String> {
        self.among(&[BANNED, CLIENTS])
    }

    /// Clients and adapters, each with the way to it.
    pub(super) fn clients(&self) -> Vec<String> {
        self.among(&[CLIENTS])
    }

    fn among(&self, lists: &[&[&str]]) -> Vec<String> {
        self.ways
            .iter()
            .filter(|(name, _)| lists.iter().any(|list| list.contains(&name.as_str())))
            .map(|(_, way)| format!("depends on {}", way.join(" → ")))
            .collect()
    }

    /// How many packages there are, the crate itself left out.
    pub(super) fn count(&self) -> usize {
        self.ways.len().saturating_sub(1)
    }
}

/// Who depends on whom among the crates of the workspace, tests left out.
pub(super) struct Tree(Vec<Crate>);

struct Crate {
    name: String,
    published: bool,
    needs: Vec<Need>,
}

/// As the manifest says it, whatever features are on.
struct Need {
    name: String,
    optional: bool,
}

impl Tree {
    pub(super) fn new(metadata: &Value) -> Result<Self, Failure> {
        let members: Result<BTreeSet<_>, _> =
            list(metadata, "/workspace_members")?.iter().map(|id| text(id, "")).collect();
        let members = members?;
        let mut crates = Vec::new();
        for package in list(metadata, "/packages")? {
            if members.contains(&text(package, "/id")?) {
                crates.push(Crate::new(package)?);
            }
        }
        if crates.len() == members.len() {
            Ok(Self(crates))
        } else {
            Err(Failure::new("cargo metadata leaves members of the workspace out"))
        }
    }

    /// Dependencies between crates of the workspace that point outwards: the core depends on none, and
    /// of those that are published only the program names a transport, and the SDK where a feature asks
    /// for it.
    pub(super) fn outward_arrows(&self) -> Vec<String> {
        let mut found = Vec::new();
        for Crate { name, needs, .. } in self.0.iter().filter(|one| one.published) {
            for need in needs.iter().filter(|need| self.0.iter().any(|one| one.name == need.name)) {
                let may_name_transports =
                    name == "mesh-cli" || (name == super::SDK && need.optional);
                let transport = need.name.starts_with("mesh-transport-");
                if name == super::PURE || (transport && !may_name_transports) {
                    found.push(format!("{name} may not depend on {}", need.name));
                }
            }
        }
        found
    }
}

impl Crate {
    fn new(package: &Value) -> Result<Self, Failure> {
        let mut needs = Vec::new();
        for dependency in list(package, "/dependencies")? {
            if dependency["kind"] != "dev" {
                let optional = dependency["optional"] == true;
                needs.push(Need { name: text(dependency, "/name")?, optional });
            }
        }
        let published = package["publish"].is_null();
        Ok(Self { name: text(package, "/name")?, published, needs })
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
