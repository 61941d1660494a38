//! A mesh raised from nothing, the server standing on it: what such a server has to hold to, item by item, as a
//! plain client sees it.

use std::collections::{BTreeMap, BTreeSet};

use mesh_control::compose::{Because, Composition, More, Source};
use mesh_control::conf::{Conf, Map};
use mesh_core::permissions::{Effect, Side};
use mesh_core::topology::{StreamName, Topology};
use mesh_testkit::servers::nats::RawNats;
use serde_json::Value;

use crate::ground::Ground;

/// Composed, run and raised.
pub async fn raised() -> Ground {
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
    let topology = Topology::new();
    for (stream, retention) in [
        ("CONTROL", "workqueue"),
        ("BUILDS", "workqueue"),
        ("NODES", "limits"),
        ("EVENTS", "limits"),
        ("EVENTS_DEAD", "limits"),
        ("ADVISORIES", "limits"),
    ] {
        let (_, config) = &before[stream];
        assert_eq!(config["retention"], retention, "{stream}");
        assert_eq!(config["discard"], "new", "{stream}");
        assert_eq!(config["storage"], "file", "{stream}");
        assert!(config["max_bytes"].as_i64().unwrap() > 1, "{stream}");
        // A share for each subject, where one sender could take everybody's room.
        let spec = topology.stream(StreamName::from_name(stream).unwrap()).unwrap();
        let share = spec.max_messages_per_subject.map_or(-1, |most| i64::try_from(most).unwrap());
        assert_eq!(config["max_msgs_per_subject"], share, "{stream}");
        let shared = ["CONTROL", "NODES", "EVENTS"].contains(&stream);
        assert_eq!(share > 0, shared, "{stream}");
    }
    assert_eq!(before["NODES"].1["max_msgs_per_subject"], 1);
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
pub async fn objections(raw: &mut RawNats) -> Vec<String> {
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
