//! A mesh's files, its secrets, and the program that reads them.

use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use mesh_control::compose::{Composition, More, Source, Verifier, Verifiers as _};
use mesh_control::secrets::{Endpoint, Method, Minted, Overwrite, SecretStore, write_document};
use mesh_core::credential::Fingerprint;
use mesh_core::identity::Principal;
use mesh_core::name::UserName;
use mesh_core::time::Timestamp;
use mesh_testkit::servers::nats::NatsServer;
use serde_json::Value;
use tempfile::TempDir;

const MESH: &str = "\
nodes = [{ name = 'n1' }, { name = 'n2' }]
assignments = [
  { module = 'nats', manifest = 'nats.toml', nodes = ['n1'] },
  { module = 'mail', manifest = 'mail.toml', nodes = ['n1'] },
  { module = 'audit', manifest = 'audit.toml', nodes = ['n2'] },
]
";
const MANIFESTS: [(&str, &str); 3] = [
    ("nats.toml", "name = 'nats'\nversion = '1'\nclaims = ['mesh-broker']\n"),
    (
        "mail.toml",
        "name = 'mail'\nversion = '1'\nemits = ['sent']\n\
         tools = [{ name = 'count', description = 'Counts what was sent.' }]\n",
    ),
    (
        "audit.toml",
        "name = 'audit'\nversion = '1'\nconsumes = ['mail.sent']\ncalls = ['mail.count']\n",
    ),
];

/// A mesh in a folder, with everybody's secrets minted.
pub(crate) struct Files {
    place: TempDir,
    minted: BTreeMap<String, Minted>,
    verifiers: BTreeMap<String, Verifier>,
}

/// What the program answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) json: Value,
    pub(crate) stderr: String,
}

impl Answer {
    /// The names of what stands against it.
    pub(crate) fn codes(&self) -> Vec<&str> {
        let reasons = self.json["reasons"].as_array().unwrap().iter();
        reasons.map(|reason| reason["code"].as_str().unwrap()).collect()
    }

    pub(crate) fn messages(&self) -> String {
        let reasons = self.json["reasons"].as_array().unwrap().iter();
        reasons.map(|reason| format!("{}\n", reason["message"].as_str().unwrap())).collect()
    }
}

impl Files {
    /// One whose bus is described so.
    pub(crate) fn new(bus: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in MANIFESTS {
            fs::write(place.path().join(name), text).unwrap();
        }
        let mut files = Self { place, minted: BTreeMap::new(), verifiers: BTreeMap::new() };
        files.bus(bus);
        let composition = files.composition();
        let users = composition.users().iter().map(|user| user.name().parse().unwrap());
        let users: Vec<UserName> = users.collect();
        let mut store = SecretStore::create(files.path("store"), "a test").unwrap();
        let method = Method::of(composition.bus());
        for minted in store.ensure(&users, method, Timestamp::UNIX_EPOCH).unwrap() {
            store.handed_over(minted.user(), &[]).unwrap();
            files.minted.insert(minted.user().to_string(), minted);
        }
        for user in users {
            let verifier = store.verifier(user.as_str()).unwrap();
            files.verifiers.insert(user.to_string(), verifier);
        }
        files
    }

    /// Describes the bus otherwise.
    pub(crate) fn bus(&self, table: &str) {
        fs::write(self.path("mesh.toml"), format!("{MESH}[bus]\n{table}\n")).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn composition(&self) -> Composition {
        let text = fs::read_to_string(self.path("mesh.toml")).unwrap();
        let manifests = MANIFESTS.map(|(file, text)| Source { file, text });
        Composition::of(Source { file: "mesh.toml", text: &text }, &manifests, &More::default())
            .unwrap()
    }

    pub(crate) fn verifiers(&self) -> &BTreeMap<String, Verifier> {
        &self.verifiers
    }

    /// The credential of a user on a server, in a file.
    pub(crate) fn credential(&self, user: &str, server: &NatsServer) -> PathBuf {
        let composition = self.composition();
        let principal: &Principal = composition.user(user).unwrap().principal();
        let pin: Fingerprint = server.fingerprint().unwrap().parse().unwrap();
        let at = Endpoint { url: server.url().parse().unwrap(), fingerprints: pin.into() };
        let credential = self.minted[user].credential(principal, &at).unwrap();
        let path = self.path(&format!("{user}.json"));
        write_document(&path, &credential.to_document().unwrap(), Overwrite::Replace).unwrap();
        path
    }

    /// `mesh bus adopt` with the mesh's file and more.
    pub(crate) fn adopt(&self, arguments: &[&str]) -> Answer {
        self.bus_verb("adopt", arguments)
    }

    /// `mesh bus` and this verb, with the mesh's file and more.
    pub(crate) fn bus_verb(&self, verb: &str, arguments: &[&str]) -> Answer {
        let mut program = Command::new(env!("CARGO_BIN_EXE_mesh"));
        program.args(["--json", "bus", verb, "--mesh"]).arg(self.path("mesh.toml"));
        let ran = program.args(arguments).stdin(Stdio::null()).output().unwrap();
        let stdout = String::from_utf8(ran.stdout).unwrap();
        let stderr = String::from_utf8(ran.stderr).unwrap();
        let json = serde_json::from_str(&stdout).unwrap_or_default();
        Answer { code: ran.status.code(), json, stderr }
    }
}

/// A port that nobody listens on now.
pub(crate) fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Where a server tells of itself.
pub(crate) fn monitoring(server: &NatsServer) -> String {
    server.monitoring().trim_start_matches("http://").to_owned()
}
