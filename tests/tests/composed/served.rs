//! A real nats-server takes what is composed, starts with it, and has nothing but what it says.

use std::collections::BTreeMap;
use std::sync::Arc;

use mesh_control::compose::{self, Composition, More, Source, Verifier};
use mesh_control::conf::Conf;
use mesh_control::supervisor::judge;
use mesh_core::manifest::ONE_ACCOUNT_SENTENCE;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer, Place, RawNats};
use mesh_testkit::servers::{Certificate, ServerError};
use serde_json::{Value, json};

const MESH: &str = "
nodes = [{ name = 'n1' }, { name = 'n2' }]
people = [{ name = 'ada', administrator = true }, { name = 'bob', tools = [] }]
assignments = [
    { module = 'mail', manifest = 'mail.toml', nodes = ['n1', 'n2'] },
    { module = 'audit', manifest = 'audit.toml', nodes = ['n2'] },
]
";
const MAIL: Source<'static> = Source {
    file: "mail.toml",
    text: "name = 'mail'
version = '1'
emits = ['sent']
calls = ['audit.count']
tools = [{ name = 'send', description = 'Sends.' }]
provides = [{ name = 'box', credential = ['url'] }]",
};
const AUDIT: Source<'static> = Source {
    file: "audit.toml",
    text: "name = 'audit'
version = '1'
consumes = ['mail.>']
tools = [{ name = 'count', description = 'Counts.' }]",
};

/// What everybody's password is: its hash is this one, made once.
pub(crate) const PASSWORD: &str = "correct horse battery staple";
pub(crate) const HASH: &str = "$2b$04$abcdefghijklmnopqrstuu7EJV7kdjBBQxyb0HjTh9KS7.Lah/6CG";

pub(crate) fn composition(bus: &str) -> Composition {
    let text = format!("{MESH}{bus}");
    let mesh = Source { file: "mesh.toml", text: &text };
    Composition::of(mesh, &[MAIL, AUDIT], &More::default()).unwrap()
}

pub(crate) fn passwords(composition: &Composition) -> BTreeMap<String, Verifier> {
    let users = composition.users().iter();
    users.map(|user| (user.name().to_owned(), Verifier::bcrypt(HASH).unwrap())).collect()
}

/// Where the test kit puts a server, as the composer is told it.
pub(crate) fn placed(place: &Place) -> compose::Place {
    let shown = |path: &std::path::Path| path.display().to_string();
    let (cert, key) = place.certificate.as_ref().unwrap();
    compose::Place {
        listen: Some(place.client),
        monitor: Some(place.monitoring),
        tls: Some((shown(cert), shown(key))),
        store_dir: Some(shown(&place.store)),
        server: Some((2, 15, 1)),
        ..compose::Place::default()
    }
}

pub(crate) async fn served(
    composition: Composition,
    verifiers: BTreeMap<String, Verifier>,
) -> Result<NatsServer, ServerError> {
    let composition = Arc::new(composition);
    let config =
        NatsConfig::composed(move |place| composition.nats(&verifiers, &placed(place)).unwrap());
    NatsServer::launch(config.tls(Certificate::local()?)).await
}

/// Each isolation with each way to answer, as `[bus]` says them.
fn layouts() -> [String; 4] {
    let one = format!("isolation = 'one-account'\naccept_one_account = '{ONE_ACCOUNT_SENTENCE}'\n");
    let asked = "answers = 'allow_responses'\nresponses = { max = 1, expires = '1m' }\n";
    [
        "\n[bus]\n".to_owned(),
        format!("\n[bus]\n{one}"),
        format!("\n[bus]\n{asked}"),
        format!("\n[bus]\n{one}{asked}account_prefix = 'POST_'\n"),
    ]
}

#[tokio::test]
async fn a_server_starts_with_every_layout_and_has_its_users_and_nothing_else() {
    for bus in layouts() {
        let composition = composition(&bus);
        let users: Vec<String> =
            composition.users().iter().map(|user| user.name().to_owned()).collect();
        let verifiers = passwords(&composition);
        let server = served(composition, verifiers).await.unwrap();
        for user in &users {
            let mut client = RawNats::connect(&server).await.unwrap();
            client.login(user, PASSWORD).await.unwrap();
            assert!(client.settle().await.unwrap().errors.is_empty(), "{user}");
            let mut other = RawNats::connect(&server).await.unwrap();
            assert!(other.login(user, HASH).await.is_err(), "{user}: the hash is no password");
        }
        let mut nobody = RawNats::connect(&server).await.unwrap();
        assert!(nobody.login_with(&json!({})).await.is_err());

        let varz = server.varz().await.unwrap();
        assert_eq!(varz["server_name"], "bus");
        assert_eq!(varz["max_connections"], 65_536);
        assert_eq!(varz["max_payload"], 1024 * 1024);
        assert_eq!(varz["auth_timeout"], 30.0);
        assert_eq!((&varz["tls_required"], &varz["tls_verify"]), (&json!(true), &Value::Null));
        assert_eq!(varz["ping_interval"], 20_000_000_000_u64);
        assert_eq!(varz["jetstream"]["config"]["max_storage"], 8_u64 << 30);
        assert_eq!(varz["jetstream"]["config"]["strict"], true);
        for listener in ["cluster", "gateway", "leaf", "mqtt", "websocket"] {
            let open = varz[listener].as_object().is_some_and(|listener| !listener.is_empty());
            assert!(!open, "{listener}: {}", varz[listener]);
        }
        // Nothing but those whom it turned away.
        let log = server.log();
        // It is asked for its health before it serves, too.
        let known = ["authentication error", "Healthcheck failed"];
        let trouble = |line: &&str| {
            let bad = line.contains("[WRN]") || line.contains("[ERR]");
            bad && !known.iter().any(|known| line.contains(known))
        };
        assert_eq!(log.lines().find(trouble), None);
    }
}

#[tokio::test]
async fn a_user_with_a_key_has_the_same_file_but_for_its_verifier() {
    let composition = composition("\n[bus]\nsecrets = 'nkey'\n");
    let keys = KEYS.iter().map(|key| Verifier::nkey(key).unwrap());
    let users = composition.users().iter().map(|user| user.name().to_owned());
    let keys: BTreeMap<String, Verifier> = users.zip(keys).collect();
    assert_eq!(keys.len(), composition.users().len());
    let server = served(composition, keys).await.unwrap();
    // Who has the key alone gets in: that is a test of the adapter's. A name and a password don't.
    let mut client = RawNats::connect(&server).await.unwrap();
    assert!(client.login("mail.n1", PASSWORD).await.is_err());
    assert!(server.log().contains("authentication error"), "{}", server.log());
}

#[tokio::test]
async fn a_server_without_flags_takes_the_file_without_them() {
    let composition = composition("");
    let verifiers = passwords(&composition);
    let config = NatsConfig::composed(move |place| {
        let place = compose::Place { server: None, ..placed(place) };
        let text = composition.nats(&verifiers, &place).unwrap();
        assert!(!text.contains("feature_flags"));
        text
    });
    NatsServer::launch(config.tls(Certificate::local().unwrap())).await.unwrap();
}

/// What the supervisor finds in a file; nothing, where it can't be read at all.
fn faults(text: &str) -> Option<Vec<String>> {
    let judged = judge(&Conf::read(text).ok()?);
    Some(judged.faults.iter().map(ToString::to_string).collect())
}

#[test]
fn the_supervisor_has_nothing_against_a_composed_file() {
    let place = compose::Place {
        folder: Some("/srv/bus".to_owned()),
        server: Some((2, 15, 1)),
        ..compose::Place::default()
    };
    for bus in layouts() {
        let composition = composition(&bus);
        let text = composition.nats(&passwords(&composition), &place).unwrap();
        let judged = judge(&Conf::read(&text).unwrap());
        assert_eq!((judged.faults, judged.warnings), (Vec::new(), Vec::new()), "{text}");
        // Cut off anywhere before its end, it is refused.
        let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        for end in lines.iter().rev().skip(1) {
            let cut = &text[..*end];
            assert!(faults(cut).is_none_or(|faults| !faults.is_empty()), "{cut}");
        }
    }
}

#[tokio::test]
async fn a_server_that_starts_without_users_asks_nobody_for_a_name() {
    let config = NatsConfig::composed(|place| {
        let (cert, key) = place.certificate.as_ref().unwrap();
        let text = format!(
            "server_name: bus\nsystem_account: SYS\nlisten: \"{}\"\nhttp: \"{}\"\n\
             tls {{ cert_file: {cert:?}, key_file: {key:?} }}\n\
             accounts {{ SYS {{}}, BUS {{ users: [] }} }}\n",
            place.client, place.monitoring
        );
        assert!(faults(&text).is_some_and(|faults| !faults.is_empty()), "{text}");
        text
    });
    let server = NatsServer::launch(config.tls(Certificate::local().unwrap())).await.unwrap();
    let mut anybody = RawNats::connect(&server).await.unwrap();
    anybody.login_with(&json!({})).await.unwrap();
    anybody.subscribe(">", None).await.unwrap();
    assert!(anybody.settle().await.unwrap().errors.is_empty());
}

const KEYS: [&str; 11] = [
    "UCAZAWCLMDCWD6SG4TCOQWCTZJS7FNH72QBHBWGKNRHXWU6P5GSXQGKF",
    "UAP5ZCOBAFS6F5BNUVKYAJ3UXCIPUC6YVJEGGNMJHO3ATMRKGOF2AWLD",
    "UCZRXFQM6QUIEIQJ6YRM42AN7P6WB2W6JRWMQREH53OYTUCUCVYEDU7I",
    "UCRPDNV53AZOPNZWVX62T52HHTAO2H6KM2FGCS7QUSMS6NRECKEYJAPM",
    "UDDXCWTGAJ445YSTSDOOZPYJE7Y2MIUF3KXJ5RMIJXFEPDOBOXDVHQQJ",
    "UCHHZNFFWWKORTIBW2UVYEL5XVF3GVZE7CLDEYVHZ5MPM6F22P2VVRTE",
    "UAHEFQRJD3C5VW73ZKFMVI6KDDLZIG57FVVTUSUBZCXASZP6P3U5GOJ6",
    "UDQG66Q5JIV65I2C7SJARDIRZZONA6ZHWG2JILVNBOZSX5LYH3ROWH3L",
    "UAJTYX4L7GTY2LQI4IHMCW7KDKZNQFIKSST5LVICLN6MOIOM3VSUP7YT",
    "UDQBXS4BZB67WEA32NQHWNEUWBTFIEAWTITRFODS63XZZPG5IMSDY4H7",
    "UCFU3CZWXFRQSY6WR6QJSRUFG2RXOJO33INB5VYJIJ7ZN6Z44EZ56MIG",
];
