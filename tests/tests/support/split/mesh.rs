//! A small mesh: who is part of it, and what each may do.

use mesh_control::compose::{Composition, Gateway, More, Source};
use mesh_core::manifest::ONE_ACCOUNT_SENTENCE;
use mesh_core::mx::{MailboxKind, Shard};
use mesh_core::name::{RealmName, TokenId};
use mesh_core::permissions::Permissions;
use mesh_testkit::fixtures::module;
use mesh_testkit::servers::nats::{Account, Layout, User};

use super::{Answers, Isolation, Setup, Started};

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
people = [{ name = "alice", administrator = true }, { name = "bob", tools = ["svc.echo", "evil.trap"] }]
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
    (
        "idle.toml",
        "name = \"idle\"\nversion = \"1\"\nemits = []\nconsumes = []\ncalls = []\ntools = []",
    ),
];

/// What the mesh file says of its server in that setup.
fn bus(setup: &Setup) -> String {
    let isolation = match setup.isolation {
        Isolation::Split => "isolation = \"split\"\n".to_owned(),
        Isolation::OneAccount => format!(
            "isolation = \"one-account\"\naccept_one_account = \"{ONE_ACCOUNT_SENTENCE}\"\n"
        ),
    };
    let answers = match setup.answers {
        Answers::Scoped => "answers = \"scoped\"\n",
        Answers::AllowResponses => {
            "answers = \"allow_responses\"\nresponses = { max = 1, expires = \"60s\" }\n"
        }
    };
    let Setup { connections, subscriptions, .. } = setup;
    format!(
        "[bus]\n{isolation}{answers}[bus.limits]\nconnections = {}\nedge_connections = {connections}\n\
         subscriptions = {}\nedge_subscriptions = {subscriptions}\n",
        connections * 4,
        subscriptions * 4,
    )
}

/// Composed from the files, as a real server's accounts are, with these modules beside its own.
pub fn composed(setup: &Setup, more: &[(&str, &str)]) -> Started<Composition> {
    let names = more.iter().map(|(file, _)| file.trim_end_matches(".toml"));
    let assigned = names.map(|name| {
        format!("    {{ module = \"{name}\", manifest = \"{name}.toml\", nodes = [\"n1\"] }},\n]")
    });
    let mesh =
        assigned.fold(MESH.to_owned(), |mesh, line| mesh.replacen("\n]", &format!("\n{line}"), 1));
    let mesh = mesh + &bus(setup);
    let modules: Vec<_> =
        MODULES.iter().chain(more).map(|(file, text)| Source { file, text }).collect();
    let kinds = [MailboxKind::Mx(Shard::default()), MailboxKind::Legacy];
    let peer: RealmName = "umbrella".parse()?;
    let gateway = Gateway {
        name: "gw1".parse()?,
        realm: "acme".parse()?,
        kinds: kinds.to_vec(),
        peers: kinds.map(|kind| (peer.clone(), kind)).into(),
        group: None,
    };
    let enrolments = [TokenId::new("t1")?, TokenId::new("t2")?].into();
    let more = More { enrolments, gateways: vec![gateway], ..More::default() };
    Ok(Composition::of(Source { file: "mesh.toml", text: &mesh }, &modules, &more)?)
}

/// Who overhears what happens beside the streams: only a test has one.
pub const TAP: &str = "tap";

/// The users of that mesh, those who enrol, a gateway on its backbone, and the tap.
pub fn layout(setup: &Setup) -> Started<Layout> {
    let streams = match setup.isolation {
        Isolation::Split => Account::Bus,
        Isolation::OneAccount => Account::Mesh,
    };
    let tap = User::named(TAP, streams, module("n9", TAP), Permissions::everything())?;
    let layout = Layout::of_composition(&composed(setup, &[])?)?.with_user(tap);
    Ok(match setup.service {
        Some(subject) => layout.with_service(subject),
        None => layout,
    })
}
