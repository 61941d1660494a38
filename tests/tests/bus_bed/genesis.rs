//! A mesh raised from nothing, the server standing on it: what such a server has to hold to, item by item, as a
//! plain client sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use mesh_control::compose::{Because, Composition, More, Source};
use mesh_control::conf::{Conf, Map};
use mesh_core::permissions::{Effect, Side};
use mesh_testkit::servers::nats::RawNats;
use serde_json::Value;

use crate::ground::{Ground, INTERVAL};

/// Composed, run and raised.
async fn raised() -> Ground {
    let mut ground = Ground::new();
    ground.compose(0);
    ground.run().await;
    let raised = ground.genesis(&[], 0);
    assert_eq!(raised["missing"], serde_json::json!([]));
    ground
}

async fn controller(ground: &Ground) -> RawNats {
    ground.login(&ground.credential("controller.json")).await.unwrap()
}

async fn info(raw: &mut RawNats, what: &str) -> Value {
    let subject = format!("$JS.API.{what}");
    let answer = raw.request(&subject, "_INBOX.controller.asker", &[], b"").await.unwrap();
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn the_streams_exist_with_the_protocols_retention_and_a_second_start_changes_none() {
    let ground = raised().await;
    let mut raw = controller(&ground).await;
    let streams = ["CONTROL", "NODES", "BUILDS", "EVENTS", "EVENTS_DEAD", "ADVISORIES"];
    let mut before = BTreeMap::new();
    for stream in streams {
        let info = info(&mut raw, &format!("STREAM.INFO.{stream}")).await;
        before.insert(stream, (info["created"].clone(), info["config"].clone()));
    }
    for (stream, retention, per_subject, discard) in [
        ("CONTROL", "workqueue", 10_000, "new"),
        ("BUILDS", "workqueue", -1, "new"),
        ("NODES", "limits", 1, "new"),
        ("EVENTS", "limits", 1_000_000, "new"),
        ("EVENTS_DEAD", "limits", -1, "new"),
        ("ADVISORIES", "limits", -1, "new"),
    ] {
        let (_, config) = &before[stream];
        assert_eq!(config["retention"], retention, "{stream}");
        assert_eq!(config["max_msgs_per_subject"], per_subject, "{stream}");
        assert_eq!(config["discard"], discard, "{stream}");
        assert_eq!(config["storage"], "file", "{stream}");
        assert!(config["max_bytes"].as_i64().unwrap() > 1, "{stream}");
    }
    let day = 86_400_000_000_000_u64;
    assert_eq!(before["EVENTS"].1["max_age"], 7 * day);
    for consumer in ["CONTROL.controller", "BUILDS.builder"] {
        let info = info(&mut raw, &format!("CONSUMER.INFO.{consumer}")).await;
        let config = &info["config"];
        assert_eq!((&config["max_ack_pending"], &config["max_deliver"]), (&1.into(), &(-1).into()));
        assert_eq!(config["ack_policy"], "explicit");
    }
    let again = ground.genesis(&["--mend"], 0);
    for nothing in ["made", "missing", "drift", "strangers"] {
        assert_eq!(again[nothing], serde_json::json!([]), "{nothing}");
    }
    for (stream, before) in before {
        let info = info(&mut raw, &format!("STREAM.INFO.{stream}")).await;
        assert_eq!((info["created"].clone(), info["config"].clone()), before, "{stream}");
    }
}

/// What the file lets that user do on one side, with `deny ` before what it denies.
fn listed(user: &Map, side: &str) -> BTreeSet<String> {
    let permissions = user.field("permissions").unwrap().value.map().unwrap();
    let side = permissions.field(side).unwrap().value.map().unwrap();
    let mut all = BTreeSet::new();
    for (key, prefix) in [("allow", ""), ("deny", "deny ")] {
        let texts = side.field(key).and_then(|node| node.value.list()).unwrap_or_default();
        all.extend(texts.iter().map(|text| format!("{prefix}{}", text.value.text().unwrap())));
    }
    all
}

#[tokio::test]
async fn every_account_and_right_of_the_composed_file_follows_from_the_manifests_and_nothing_else()
{
    let ground = raised().await;
    let files: Vec<(String, String)> = ["shop", "mail", "log"]
        .map(|name| (format!("{name}.toml"), ground.file(&format!("{name}.toml"))))
        .into();
    let sources: Vec<_> = files.iter().map(|(file, text)| Source { file, text }).collect();
    let mesh = ground.file("mesh.toml");
    let composed =
        Composition::of(Source { file: "mesh.toml", text: &mesh }, &sources, &More::default())
            .unwrap();
    let conf = Conf::read(&ground.file("bus/nats-server.conf")).unwrap();
    let accounts = conf.root().field("accounts").unwrap().value.map().unwrap();
    let mut seen = BTreeSet::new();
    for (account, node) in accounts.iter() {
        let users = node.value.map().unwrap().field("users").and_then(|node| node.value.list());
        for user in users.unwrap_or_default() {
            let user = user.value.map().unwrap();
            let name = user.field("user").unwrap().value.text().unwrap().to_owned();
            if account == "SYS" {
                panic!("the system account has a user: {name}");
            }
            let of = composed.user(&name).unwrap_or_else(|| panic!("nobody asked for {name}"));
            for (key, side) in [("publish", Side::Publish), ("subscribe", Side::Subscribe)] {
                let grants = of.grants().iter().filter(|grant| grant.side == side);
                let mut expected: BTreeSet<String> = grants
                    .map(|grant| {
                        let group = grant.rule.group.as_ref();
                        let group = group.map_or(String::new(), |group| format!(" {group}"));
                        let deny = if grant.effect == Effect::Deny { "deny " } else { "" };
                        format!("{deny}{}{group}", grant.rule.filter)
                    })
                    .collect();
                if expected.is_empty() {
                    expected.insert("deny >".to_owned());
                }
                assert_eq!(listed(user, key), expected, "{name} {key}");
            }
            seen.insert(name);
        }
    }
    let expected: BTreeSet<String> =
        composed.users().iter().map(|user| user.name().to_owned()).collect();
    // Nobody has given ada a credential.
    let without: Vec<_> = expected.difference(&seen).collect();
    assert_eq!(without, ["person.ada"]);

    // Each consumer's own acknowledgements, each user's own inbox.
    let publish = |user: &str| -> Vec<String> {
        let grants = composed.user(user).unwrap().grants().iter();
        let side = grants.filter(|grant| grant.side == Side::Publish);
        side.map(|grant| grant.rule.filter.to_string()).collect()
    };
    assert!(publish("mail.n1").contains(&"$JS.ACK.EVENTS.n1_mail.*.*.*.*.*".to_owned()));
    for user in composed.users() {
        let mut acks = publish(user.name());
        acks.retain(|filter| filter.starts_with("$JS.ACK.") && filter.contains("EVENTS."));
        let own = user.name().split_once('.').map(|(module, node)| format!(".{node}_{module}."));
        assert!(
            acks.iter().all(|ack| own.as_ref().is_some_and(|own| ack.contains(own))),
            "{acks:?}"
        );
        for grant in user.grants() {
            match &grant.because {
                Because::Line(line) => assert!(line.line > 0 && !line.field.is_empty()),
                Because::Rule(words) => assert!(!words.is_empty()),
            }
        }
    }
}

/// What the server says to these, one after the other.
async fn objections(raw: &mut RawNats) -> Vec<String> {
    raw.settle().await.unwrap().errors
}

#[tokio::test]
async fn nobody_publishes_outside_its_emits_nor_subscribes_outside_its_consumes() {
    let ground = raised().await;
    let mut shop = ground.login(&ground.credential("n1.shop.json")).await.unwrap();
    shop.publish("mesh.events.shop.sold", None, &[], b"1").await.unwrap();
    assert_eq!(objections(&mut shop).await, [""; 0]);
    for subject in [
        "mesh.events.shop.other",
        "mesh.events.mail.sold",
        "mesh.events.dead",
        "mesh.node.n1.declare",
        "mesh.control.n1.report",
        "mesh.tools.shop.price",
        "$JS.API.STREAM.DELETE.EVENTS",
    ] {
        shop.publish(subject, None, &[], b"1").await.unwrap();
        let said = objections(&mut shop).await;
        assert!(
            said.len() == 1 && said[0].contains("Permissions Violation for Publish"),
            "{subject}: {said:?}"
        );
    }
    let mut mail = ground.login(&ground.credential("n1.mail.json")).await.unwrap();
    mail.subscribe("mesh.deliver.EVENTS.n1_mail", Some("n1_mail")).await.unwrap();
    assert_eq!(objections(&mut mail).await, [""; 0]);
    for (subject, group) in [
        ("mesh.events.shop.sold", None),
        ("mesh.events.>", None),
        (">", None),
        ("mesh.deliver.EVENTS.n1_log", Some("n1_log")),
        ("mesh.deliver.EVENTS.n1_mail", None),
        ("mesh.node.n1.declare", None),
        ("mesh.tools.shop.price", Some("serve")),
    ] {
        mail.subscribe(subject, group).await.unwrap();
        let said = objections(&mut mail).await;
        assert!(
            said.len() == 1 && said[0].contains("Permissions Violation for Subscription"),
            "{subject}: {said:?}"
        );
    }
}

#[tokio::test]
async fn nobody_acknowledges_anothers_delivery_nor_listens_at_anothers_inbox() {
    let ground = raised().await;
    let mut shop = ground.login(&ground.credential("n1.shop.json")).await.unwrap();
    let mut mail = ground.login(&ground.credential("n1.mail.json")).await.unwrap();
    let mut log = ground.login(&ground.credential("n1.log.json")).await.unwrap();
    mail.subscribe("mesh.deliver.EVENTS.n1_mail", Some("n1_mail")).await.unwrap();
    shop.publish("mesh.events.shop.sold", None, &[], b"1").await.unwrap();
    let delivery = mail.next().await.unwrap();
    let address = delivery.reply.unwrap();
    assert!(address.starts_with("$JS.ACK."), "{address}");
    for verb in ["+ACK", "-NAK", "+TERM", "+WPI"] {
        log.publish(&address, None, &[], verb.as_bytes()).await.unwrap();
        let said = objections(&mut log).await;
        assert!(
            said.len() == 1 && said[0].contains("Permissions Violation for Publish"),
            "{verb}: {said:?}"
        );
    }
    let mut raw = controller(&ground).await;
    let consumer = info(&mut raw, "CONSUMER.INFO.EVENTS.n1_mail").await;
    assert_eq!(consumer["num_ack_pending"], 1, "{consumer}");
    mail.publish(&address, None, &[], b"+ACK").await.unwrap();
    assert_eq!(objections(&mut mail).await, [""; 0]);
    for inbox in [
        "_INBOX.mail.n1.>",
        "_INBOX.>",
        "_INBOX.*.n1.>",
        "_INBOX.controller.>",
        "_INBOX.person.ada.>",
    ] {
        log.subscribe(inbox, None).await.unwrap();
        let said = objections(&mut log).await;
        assert!(
            said.len() == 1 && said[0].contains("Permissions Violation for Subscription"),
            "{inbox}: {said:?}"
        );
    }
    log.subscribe("_INBOX.log.n1.>", None).await.unwrap();
    assert_eq!(objections(&mut log).await, [""; 0]);
}

/// An address of this machine that is not loopback, if it has one. Nothing is sent.
fn other_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    match socket.local_addr().ok()? {
        SocketAddr::V4(address) if !address.ip().is_loopback() => Some(*address.ip()),
        _ => None,
    }
}

#[tokio::test]
async fn the_monitoring_port_is_there_on_loopback_alone_and_a_file_that_says_otherwise_is_refused()
{
    let ground = raised().await;
    assert!(ground.varz().await.is_some());
    // Another address of loopback is another address: the server listens on one alone.
    let port = ground.monitor.port();
    let patience = Duration::from_secs(5);
    let others = other_address().into_iter().chain([Ipv4Addr::new(127, 0, 0, 2)]);
    for other in others {
        let reached = TcpStream::connect_timeout(&SocketAddr::from((other, port)), patience);
        assert!(reached.is_err(), "{other} answers");
    }
    for everywhere in ["0.0.0.0", "192.0.2.1"] {
        let mesh = ground.file("mesh.toml");
        let open = mesh.replace(
            &format!("monitor = '{}'", ground.monitor),
            &format!("monitor = '{everywhere}:{port}'"),
        );
        assert_ne!(mesh, open);
        ground.write("mesh.toml", &open);
        let before = ground.file("bus/nats-server.conf");
        let refused = ground.mesh(&[
            "perm",
            "compose",
            "--mesh",
            "mesh.toml",
            "--store",
            "store",
            "--out",
            "bus",
        ]);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(told.contains("loopback"), "{told}");
        assert_eq!(ground.file("bus/nats-server.conf"), before);
        ground.write("mesh.toml", &mesh);
    }
}

#[tokio::test]
async fn a_change_of_the_composed_file_is_live_within_an_interval_and_the_server_is_not_started_anew()
 {
    let ground = raised().await;
    let before = ground.varz().await.unwrap();
    let pid = ground.folder().report().unwrap().unwrap().pid;
    let mut staying = ground.login(&ground.credential("n1.shop.json")).await.unwrap();
    let mail = ground.credential("n1.mail.json");
    let mut leaving = ground.login(&mail).await.unwrap();

    // `mail` leaves, `crm` comes.
    ground.write("crm.toml", "name = 'crm'\nversion = '1'\nconsumes = ['shop.closed']\n");
    ground.assign(&["shop", "log", "crm"], "");
    let changed = Instant::now();
    let composed = ground.compose(0);
    // It returns when the server runs with it.
    let took = changed.elapsed();
    assert_eq!(composed["reached"], "live", "{composed}");
    // A reload of a handful of users takes no time; the rest is a busy machine's.
    assert!(took < INTERVAL + Duration::from_secs(15), "{took:?}");
    ground.login(&ground.credential("n1.crm.json")).await.unwrap();
    let ended = leaving.closed().await.unwrap();
    assert!(ground.login(&mail).await.is_err(), "{ended:?}");

    let after = ground.varz().await.unwrap();
    assert_eq!((&after.server_id, &after.start), (&before.server_id, &before.start));
    assert_eq!(ground.folder().report().unwrap().unwrap().pid, pid);
    assert_ne!(after.config_digest, before.config_digest);
    staying.publish("mesh.events.shop.sold", None, &[], b"1").await.unwrap();
    assert_eq!(objections(&mut staying).await, [""; 0]);

    // The new module's consumer is missing until genesis is run; the old one's is told and left.
    let status = ground.status(&["--dir", "bus"], 1);
    assert_eq!(status["alarms"][0]["what"], "EVENTS/n1_crm is missing", "{status}");
    let raised = ground.genesis(&[], 0);
    assert_eq!(raised["made"], serde_json::json!(["EVENTS/n1_crm"]));
    assert_eq!(raised["strangers"][0]["object"], "EVENTS/n1_mail");
    let owed = raised["strangers"][0]["owed"].as_u64().unwrap();
    assert_eq!(owed, 1);
    let kept = ground.genesis(&["--retire", "EVENTS/n1_mail"], 1);
    assert_eq!(kept["retired"][0]["refused"], "EVENTS/n1_mail owes 1");
    let gone = ground.genesis(&["--retire", "EVENTS/n1_mail", "--give-up-owed"], 0);
    assert_eq!(gone["retired"][0]["gave_up"], 1);
    assert_eq!(ground.genesis(&[], 0)["strangers"], serde_json::json!([]));
}

#[tokio::test]
async fn what_one_would_ask_of_a_bus_is_told_from_nothing_to_well() {
    let mut ground = Ground::new();
    ground.compose(0);
    // Nothing runs.
    let output = ground.mesh(&[
        "bus",
        "status",
        "--mesh",
        "mesh.toml",
        "--credential",
        "credentials/controller.json",
        "--dir",
        "bus",
    ]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("mesh bus run"), "{told}");
    ground.run().await;
    let empty = ground.genesis(&["--report-only"], 1);
    assert_eq!(empty["made"], serde_json::json!([]));
    assert_eq!(ground.status(&["--dir", "bus"], 1)["good"], false);
    ground.genesis(&[], 0);
    let well = ground.status(&["--dir", "bus"], 0);
    assert_eq!(well["good"], true);
    assert_eq!(well["server"]["name"], "ground");
    assert_eq!(well["server"]["reload"]["live"], true);
    assert_eq!(well["epoch"], ground.genesis(&[], 0)["epoch"]);

    // A manifest that is wrong: its module has no account and no consumer any more, and is no stranger.
    ground.write("log.toml", "name = 'log'\nversion = '1'\nconsumes = ['shop.**']\n");
    let raised = ground.genesis(&[], 1);
    assert_eq!(raised["refused_manifests"][0]["module"], "log");
    assert_eq!(raised["strangers"][0]["manifest_is_refused"], true);
    let status = ground.status(&["--dir", "bus"], 1);
    assert!(status["alarms"].to_string().contains("the manifest of log is refused"), "{status}");

    // A composed file that the server would refuse is said to be so, in its words.
    let composed = ground.file("bus/nats-server.conf");
    ground.write("bus/nats-server.conf", &format!("{composed}\nnonsense: 1\n"));
    let told = crate::soon(async {
        loop {
            let status = ground.status(&["--dir", "bus"], 1);
            let told = status["alarms"][0]["what"].as_str().unwrap().to_owned();
            if told.contains("refused") {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(told.contains("nonsense"), "{told}");
    assert!(!ground.is_there("bus/reload.json.tmp"));
}

#[tokio::test]
async fn a_mesh_in_one_account_is_raised_and_told_why_that_is_dangerous() {
    let mut ground = Ground::new();
    let sentence = mesh_core::manifest::ONE_ACCOUNT_SENTENCE;
    ground.assign(
        &["shop", "mail", "log"],
        &format!("isolation = 'one-account'\naccept_one_account = '{sentence}'\n"),
    );
    ground.compose(0);
    ground.run().await;
    let raised = ground.genesis(&[], 0);
    let danger = raised["dangers"][0].as_str().unwrap();
    assert!(danger.contains("$JS.API.STREAM.DELETE"), "{danger}");
    assert!(ground.genesis(&[], 0)["made"].as_array().unwrap().is_empty());
    assert_eq!(ground.status(&["--dir", "bus"], 0)["dangers"], raised["dangers"]);
}
