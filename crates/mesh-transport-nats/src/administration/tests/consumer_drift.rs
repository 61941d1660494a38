use futures_util::StreamExt as _;
use mesh_core::port::{Administration as _, DriftMode};
use mesh_core::topology::StreamName;
use serde_json::{Value, json};

use super::server::{Hand, Plain, Server, settles};
use super::{consumer, fields, only};
use crate::administration::Admin;

const STREAM: &str = "EVENTS";
const MAIL: &str = "n1_mail";
const OBJECT: &str = "EVENTS/n1_mail";

/// EVENTS with a consumer that has settled the first of three messages.
async fn one_settled() -> (Server, Admin<Plain>, Hand) {
    let server = Server::start().await;
    let admin = server.admin().await;
    let hand = server.hand().await;
    admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    hand.append_all("mesh.events.shop.sold", &["1"]).await;
    settle_one(&hand).await;
    hand.append_all("mesh.events.shop.sold", &["2", "3"]).await;
    settles(async || position(&hand).await, &json!([1, 2])).await;
    (server, admin, hand)
}

/// Settles what the consumer delivers next, and leaves before anything else comes.
async fn settle_one(hand: &Hand) {
    let subject = format!("mesh.deliver.{STREAM}.{MAIL}");
    let mut reading = hand.0.queue_subscribe(subject, MAIL.to_owned()).await.unwrap();
    let delivery = reading.next().await.unwrap();
    // With a reply, so that the server has it when this returns.
    hand.0.request(delivery.reply.unwrap(), "+ACK".into()).await.unwrap();
    reading.unsubscribe().await.unwrap();
    hand.0.flush().await.unwrap();
}

/// How far the consumer is, and what it has yet to settle.
async fn position(hand: &Hand) -> Value {
    let info = hand.consumer(STREAM, MAIL).await;
    let owed = info["num_pending"].as_u64().unwrap() + info["num_ack_pending"].as_u64().unwrap();
    json!([info["ack_floor"]["stream_seq"], owed])
}

#[tokio::test]
async fn each_setting_of_a_consumer_is_reported_and_mended() {
    let (_server, admin, hand) = one_settled().await;
    let topology = only(StreamName::Events);
    let before = json!([1, 2]);
    let pristine = hand.consumer(STREAM, MAIL).await["config"].clone();
    for (changes, expected) in [
        (json!({ "filter_subjects": ["mesh.events.shop.>"] }), vec!["filters"]),
        (
            json!({ "filter_subjects": null, "filter_subject": "mesh.events.shop.>" }),
            vec!["filters"],
        ),
        (json!({ "filter_subjects": null }), vec!["filters"]),
        (json!({ "ack_wait": 1_000_000_000 }), vec!["ack_wait"]),
        (json!({ "max_deliver": -1 }), vec!["max_deliver"]),
        (json!({ "max_deliver": 9 }), vec!["max_deliver"]),
        (json!({ "max_ack_pending": 1 }), vec!["max_ack_pending"]),
        (json!({ "max_ack_pending": -1 }), vec!["max_ack_pending"]),
        (json!({ "backoff": [1_000_000_000, 2_000_000_000] }), vec!["backoff", "ack_wait"]),
        (json!({ "headers_only": true }), vec!["headers_only"]),
        (json!({ "rate_limit_bps": 1_000_000 }), vec!["rate_limit_bps"]),
        (json!({ "sample_freq": "100%" }), vec!["sample_freq"]),
        (json!({ "inactive_threshold": 3_600_000_000_000_u64 }), vec!["inactive_threshold"]),
        (json!({ "num_replicas": 1 }), vec!["num_replicas"]),
        (json!({ "deliver_subject": "elsewhere.a" }), vec!["deliver_subject"]),
        (
            json!({ "deliver_subject": "elsewhere.a", "deliver_group": "another" }),
            vec!["deliver_subject", "shared"],
        ),
        (json!({ "deliver_group": "another" }), vec!["shared"]),
        (json!({ "deliver_group": null }), vec!["shared"]),
    ] {
        hand.change_consumer(STREAM, MAIL, &changes).await;
        let told =
            |mended| expected.iter().map(|field| (OBJECT, *field, mended)).collect::<Vec<_>>();
        for _twice in 0..2 {
            let drift = admin.assert(&topology, DriftMode::Report).await.unwrap();
            assert_eq!(fields(&drift), told(false), "{changes}");
            assert!(drift.iter().all(|drift| drift.expected != drift.found), "{drift:?}");
        }
        let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
        assert_eq!(fields(&drift), told(true), "{changes}");
        assert_eq!(admin.assert(&topology, DriftMode::Report).await.unwrap(), [], "{changes}");
        assert_eq!(hand.consumer(STREAM, MAIL).await["config"], pristine, "{changes}");
        assert_eq!(position(&hand).await, before, "{changes}");
    }
    // It delivers what it owes, in order, from where it stood.
    settle_one(&hand).await;
    settles(async || position(&hand).await, &json!([2, 1])).await;
}

#[tokio::test]
async fn what_a_server_can_not_change_is_named_and_the_rest_is_mended() {
    let (_server, admin, hand) = one_settled().await;
    let topology = only(StreamName::Events);
    let pristine = hand.consumer(STREAM, MAIL).await["config"].clone();
    for (changes, expected) in [
        (json!({ "deliver_policy": "all" }), vec!["deliver_from"]),
        (
            json!({ "deliver_policy": "by_start_sequence", "opt_start_seq": 2 }),
            vec!["deliver_from"],
        ),
        (json!({ "ack_policy": "all" }), vec!["ack_policy"]),
        (json!({ "replay_policy": "original" }), vec!["replay_policy"]),
        (json!({ "mem_storage": true }), vec!["mem_storage"]),
        (json!({ "idle_heartbeat": 1_000_000_000 }), vec!["idle_heartbeat"]),
        (
            json!({ "flow_control": true, "idle_heartbeat": 1_000_000_000 }),
            vec!["flow_control", "idle_heartbeat"],
        ),
        (
            json!({ "deliver_subject": null, "deliver_group": null }),
            vec!["deliver_subject", "shared"],
        ),
        (
            json!({ "deliver_subject": null, "deliver_group": null, "durable_name": null,
                 "inactive_threshold": 3_600_000_000_000_u64 }),
            vec!["durable_name", "deliver_subject", "shared", "inactive_threshold"],
        ),
        (
            json!({ "durable_name": null, "inactive_threshold": 3_600_000_000_000_u64 }),
            vec!["durable_name", "inactive_threshold"],
        ),
    ] {
        hand.remake_consumer(STREAM, MAIL, &changes).await;
        let before = position(&hand).await;
        let made = hand.consumer(STREAM, MAIL).await["config"].clone();
        let ack_wait = json!({ "ack_wait": 1_000_000_000 });
        hand.change_consumer(STREAM, MAIL, &ack_wait).await;
        let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
        let drift = fields(&drift);
        for field in &expected {
            assert!(drift.contains(&(OBJECT, field, false)), "{changes}: {drift:?}");
        }
        assert!(drift.contains(&(OBJECT, "ack_wait", true)), "{changes}: {drift:?}");
        let left = admin.assert(&topology, DriftMode::Mend).await.unwrap();
        let told: Vec<_> = expected.iter().map(|field| (OBJECT, *field, false)).collect();
        assert_eq!(fields(&left), told, "{changes}");
        assert_eq!(position(&hand).await, before, "{changes}");
        assert_eq!(hand.consumer(STREAM, MAIL).await["config"], made, "{changes}");
        hand.done(&format!("CONSUMER.DELETE.{STREAM}.{MAIL}"), Value::Null).await;
        hand.make_consumer("create", STREAM, MAIL, pristine.clone()).await;
    }
}

#[tokio::test]
async fn filters_inside_one_another_are_sent_without_the_inner() {
    let (_server, admin, hand) = one_settled().await;
    let of = consumer(StreamName::Events, MAIL);
    let topology = only(StreamName::Events);
    let mut mail = topology.consumer(&of).unwrap().clone();
    let filter = |text| mesh_core::subject::Filter::new(text).unwrap();
    mail.filters =
        ["mesh.events.crm.>", "mesh.events.shop.sold", "mesh.events.shop.*"].map(filter).into();
    let topology = topology.with_consumer(mail);
    let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
    assert_eq!(fields(&drift), [(OBJECT, "filters", true)]);
    let filters = hand.consumer(STREAM, MAIL).await["config"]["filter_subjects"].clone();
    assert_eq!(filters, json!(["mesh.events.crm.>", "mesh.events.shop.*"]));
    assert_eq!(admin.assert(&topology, DriftMode::Mend).await.unwrap(), []);
}
