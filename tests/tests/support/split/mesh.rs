//! A small mesh: who is part of it, and what each may do.

use mesh_core::identity::Principal;
use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest};
use mesh_core::name::TokenId;
use mesh_core::permissions::Permissions;
use mesh_testkit::fixtures::module;
use mesh_testkit::servers::nats::{Account, Layout, User};

use super::{Isolation, Setup, Started};

/// Two nodes. `svc` emits, consumes, serves, provides and calls; `db` serves; `evil` is on both nodes,
/// emits, consumes, calls and serves; `mute` emits and nothing else; `idle` lists nothing at all.
const MESH: &str = r#"
nodes = [{ name = "n1" }, { name = "n2" }]
assignments = [
    { module = "svc", manifest = "svc.toml", nodes = ["n1"] },
    { module = "db", manifest = "db.toml", nodes = ["n1"] },
    { module = "evil", manifest = "evil.toml", nodes = ["n1", "n2"] },
    { module = "mute", manifest = "mute.toml", nodes = ["n1"] },
    { module = "idle", manifest = "idle.toml", nodes = ["n1"] },
]
people = [{ name = "alice", administrator = true }, { name = "bob", tools = ["svc.echo"] }]
"#;

const MODULES: [(&str, &str); 5] = [
    (
        "svc.toml",
        r#"
name = "svc"
version = "1"
emits = ["made"]
consumes = ["evil.>", "mute.y"]
calls = ["db.drop", "db.absent"]
tools = [
    { name = "echo", description = "Answers what it is asked." },
    { name = "slow", description = "The same, later." },
]
provides = [{ name = "rows", credential = ["url"] }]
"#,
    ),
    (
        "db.toml",
        r#"
name = "db"
version = "1"
tools = [
    { name = "drop", description = "Drops a table." },
    { name = "absent", description = "Is not served by any program here." },
    { name = "wipe", description = "Is for administrators alone." },
]
"#,
    ),
    (
        "evil.toml",
        r#"
name = "evil"
version = "1"
emits = ["x"]
consumes = ["svc.made"]
calls = ["svc.echo"]
tools = [{ name = "trap", description = "Is for whom it catches." }]
"#,
    ),
    ("mute.toml", "name = \"mute\"\nversion = \"1\"\nemits = [\"y\"]"),
    ("idle.toml", "name = \"idle\"\nversion = \"1\"\nemits = []\nconsumes = []\ncalls = []\ntools = []"),
];

pub fn mesh() -> Started<Mesh> {
    let modules = MODULES.iter().map(|(file, text)| ModuleManifest::parse(file, text));
    let modules = modules.collect::<Result<Vec<_>, _>>()?;
    Ok(Mesh::resolve(&MeshFile::parse("mesh.toml", MESH)?, &modules)?)
}

/// Who overhears what happens beside the streams: only a test has one.
pub const TAP: &str = "tap";

/// The users of that mesh, one who enrols, and the tap.
pub fn layout(setup: &Setup) -> Started<Layout> {
    let mesh = mesh()?;
    let (layout, streams, others) = match setup.isolation {
        Isolation::Split => (Layout::split(&mesh)?, Account::Bus, Account::Edge),
        Isolation::OneAccount => (Layout::one_account(&mesh)?, Account::Mesh, Account::Mesh),
    };
    let token: TokenId = "t1".parse()?;
    let may = Permissions::of_enrolment(&token);
    let enrolling = User::new(others, Principal::Enrolment { token }, may)?;
    let tap = User::named(TAP, streams, module("n9", TAP), Permissions::everything())?;
    let layout = layout
        .with_user(enrolling)
        .with_user(tap)
        .with_edge_connections(setup.connections)
        .with_edge_subscriptions(setup.subscriptions);
    Ok(match setup.service {
        Some(subject) => layout.with_service(subject),
        None => layout,
    })
}
