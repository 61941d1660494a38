//! Secrets of a composed mesh on a real server: log-ins of both kinds, what stays when the mesh changes, and
//! everybody who comes back at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mesh_control::compose::{Composition, More, Place, Source, Verifier, Verifiers as _};
use mesh_control::secrets::{Endpoint, Kept, Method, Minted, SecretStore};
use mesh_core::credential::{Credential, Fingerprint, Login};
use mesh_core::identity::Principal;
use mesh_core::name::UserName;
use mesh_core::port::{Connection, ErrorKind, TransportError};
use mesh_core::time::Timestamp;
use mesh_sdk::{Broker, ToolCall};
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_transport_nats::{NatsOptions, Target, TargetError, connect};
use serde_json::{Value, json};

/// How long one thing may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long sixty who come at once may take with bcrypt's cost 4: 0.2 s alone on two cores, and room for a machine
/// that is busy. At cost 11 it is above 4 s on an idle one.
const ALL_IN: Duration = Duration::from_secs(20);

/// A server, and what everybody logs in with.
struct Bed {
    composition: Composition,
    store: SecretStore,
    minted: BTreeMap<String, Minted>,
    server: NatsServer,
    bus: Endpoint,
    _place: tempfile::TempDir,
}

/// `count` modules on one node, each of which serves a tool that the next one calls.
fn composition(bus: &str, count: usize) -> Composition {
    let name = |number: usize| format!("m{number}");
    let manifests: Vec<(String, String)> = (0..count)
        .map(|number| {
            let text = format!(
                "name = '{}'\nversion = '1'\ncalls = ['{}.count']\n\
                 tools = [{{ name = 'count', description = 'Counts.' }}]\n",
                name(number),
                name((number + count - 1) % count),
            );
            (format!("{}.toml", name(number)), text)
        })
        .collect();
    let mut mesh = format!("nodes = [{{ name = 'n1' }}]\n[bus]\n{bus}\n");
    for number in 0..count {
        let name = name(number);
        mesh.push_str(&format!(
            "[[assignments]]\nmodule = '{name}'\nmanifest = '{name}.toml'\nnodes = ['n1']\n"
        ));
    }
    let manifests: Vec<_> = manifests.iter().map(|(file, text)| Source { file, text }).collect();
    let mesh = Source { file: "mesh.toml", text: &mesh };
    Composition::of(mesh, &manifests, &More::default()).unwrap()
}

/// The server's file, with what is in the store now.
fn config(composition: &Composition, store: &SecretStore, certificate: &Certificate) -> NatsConfig {
    let verifier = |name: &str| Some((name.to_owned(), store.verifier(name)?));
    let users = composition.users().iter();
    let verifiers: BTreeMap<String, Verifier> =
        users.filter_map(|user| verifier(user.name())).collect();
    let composition = composition.clone();
    NatsConfig::composed(move |at| {
        let text = |path: &std::path::Path| path.display().to_string();
        let (cert, key) = at.certificate.as_ref().unwrap();
        let place = Place {
            listen: Some(at.client),
            monitor: Some(at.monitoring),
            tls: Some((text(cert), text(key))),
            store_dir: Some(text(&at.store)),
            ..Place::default()
        };
        composition.nats(&verifiers, &place).unwrap()
    })
    .tls(certificate.clone())
}

impl Bed {
    async fn raise(bus: &str, count: usize) -> Self {
        let composition = composition(bus, count);
        let place = tempfile::tempdir().unwrap();
        let mut store = SecretStore::create(place.path().join("store"), "a test").unwrap();
        let users = composition.users().iter().map(|user| user.name().parse().unwrap());
        let users: Vec<UserName> = users.collect();
        let method = Method::of(composition.bus());
        let minted = store.ensure(&users, method, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(minted.len(), users.len());
        let certificate = Certificate::local().unwrap();
        let server = NatsServer::launch(config(&composition, &store, &certificate)).await.unwrap();
        let pin: Fingerprint = certificate.fingerprint().parse().unwrap();
        let bus = Endpoint { url: server.url().parse().unwrap(), fingerprints: pin.into() };
        let minted = minted.into_iter().map(|one| (one.user().to_string(), one)).collect();
        Self { composition, store, minted, server, bus, _place: place }
    }

    /// As the document says it, which whoever connects reads.
    fn credential(&self, user: &str) -> Credential {
        let principal = self.composition.user(user).unwrap().principal();
        let document = self.minted[user].document(principal, &self.bus, &[]).unwrap();
        Credential::parse(document.expose()).unwrap()
    }

    async fn connect(&self, user: &str) -> Result<Connection, TransportError> {
        let options = NatsOptions { connect_timeout: PATIENCE, ..NatsOptions::default() };
        connect(Target::of(&self.credential(user)).unwrap(), options).await
    }

    /// The server's number of the connection that is called so.
    async fn number_of(&self, name: &str) -> Option<u64> {
        let connz = self.server.connz().await.unwrap();
        let connections = connz["connections"].as_array().unwrap();
        let found = connections.iter().find(|connection| connection["name"] == name);
        found.and_then(|connection| connection["cid"].as_u64())
    }

    async fn reload(&self) {
        let certificate = self.server.certificate().unwrap();
        let config = config(&self.composition, &self.store, &certificate);
        self.server.reload(config).await.unwrap();
    }
}

/// A module calls another's tool with the rights of its own user, and no other.
async fn calls(bed: &Bed) {
    let one = Broker::builder(bed.connect("m1.n1").await.unwrap()).build().unwrap();
    let zero = Broker::builder(bed.connect("m0.n1").await.unwrap()).build().unwrap();
    zero.handle("count", |_: ToolCall| async { Ok(json!(7)) }).await.unwrap();
    let answer = one.request::<_, _, Value>(("m0", "count"), &json!(null)).await.unwrap();
    assert_eq!(answer, json!(7));
    let denied = one.request::<_, _, Value>(("m2", "count"), &json!(null)).await.unwrap_err();
    assert!(matches!(denied, mesh_sdk::RequestError::Denied(_)), "{denied}");
    let controller = bed.connect("controller").await.unwrap();
    assert!(controller.administration().is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_a_password_of_a_composed_file_calls_what_its_manifest_says() {
    let bed = Bed::raise("secrets = 'bcrypt'", 4).await;
    assert!(bed.store.records().all(|(_, record)| record.kept.cost() == Some(4)));
    calls(&bed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_an_nkey_of_a_composed_file_calls_what_its_manifest_says() {
    let bed = Bed::raise("secrets = 'nkey'", 4).await;
    assert!(bed.store.records().all(|(_, record)| matches!(record.kept, Kept::NKey(_))));
    calls(&bed).await;

    // A seed of somebody else leads nowhere, and one that the server doesn't know is refused by it.
    let mine = bed.credential("m0.n1");
    let login = mine.url().server().unwrap().login().unwrap().clone();
    let others = bed.minted["m1.n1"].login().password().clone();
    let as_login = |login: Login| {
        let url = bed.bus.url.clone().with_login(login);
        Credential::new(mine.principal().clone(), url, bed.bus.fingerprints.clone()).unwrap()
    };
    let forged = as_login(Login::new(login.user(), others).unwrap());
    assert_eq!(Target::of(&forged).unwrap_err(), TargetError::OtherSeed);
    let as_password = as_login(Login::new("m0.n1", login.password().clone()).unwrap());
    assert_eq!(Target::of(&as_password).unwrap_err(), TargetError::SeedAsPassword);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut elsewhere = SecretStore::create(elsewhere.path().join("store"), "a test").unwrap();
    let user = "m0.n1".parse().unwrap();
    let stranger = elsewhere.mint(&user, Method::NKey, Timestamp::UNIX_EPOCH).unwrap();
    let stranger = Target::of(&as_login(stranger.login().clone())).unwrap();
    let refused = connect(stranger, NatsOptions::default()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
    // Nothing of a seed is in what is said, or in what the server logs.
    let log = bed.server.log();
    let shown = format!("{refused} {refused:?} {log}");
    for minted in bed.minted.values() {
        assert!(!shown.contains(&minted.login().password().expose()[4..30]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_secret_takes_its_predecessors_place_at_the_reload_and_nobody_elses() {
    let mut bed = Bed::raise("", 3).await;
    let before = bed.store.record("m1.n1").unwrap().clone();
    let _kept = bed.connect("m1.n1").await.unwrap();
    let number = bed.number_of("module m1 on n1").await;
    assert!(number.is_some());
    let old = bed.credential("m0.n1");
    let user: UserName = "m0.n1".parse().unwrap();
    let minted = bed.store.rotate(&user, Method::NKey, Timestamp::UNIX_EPOCH).unwrap();
    bed.minted.insert(user.to_string(), minted);
    bed.reload().await;
    let refused = connect(Target::of(&old).unwrap(), NatsOptions::default()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
    bed.connect("m0.n1").await.unwrap();
    assert_eq!(bed.store.record("m1.n1"), Some(&before));
    assert_eq!(bed.number_of("module m1 on n1").await, number, "the connection is another");
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_users_of_cost_4_who_come_at_once_are_in_within_twenty_seconds() {
    let bed = Bed::raise("", 60).await;
    let users = bed.composition.users().iter();
    let modules = users.filter(|user| matches!(user.principal(), Principal::Module { .. }));
    let modules: Vec<_> = modules.map(|user| user.name()).collect();
    assert_eq!(modules.len(), 60);
    let begun = Instant::now();
    let connected = join_all(modules.iter().map(|user| bed.connect(user))).await;
    let all_in = begun.elapsed();
    println!("60 users of bcrypt cost 4 are in after {all_in:?}");
    for (user, connected) in modules.iter().zip(&connected) {
        assert!(connected.is_ok(), "{user}: {connected:?}");
    }
    assert!(all_in < ALL_IN, "{all_in:?}");
}
