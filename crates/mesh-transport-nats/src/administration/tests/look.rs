//! How streams and consumers are, in the server's own words.

use mesh_core::port::{Administration as _, DriftMode};
use mesh_core::topology::{StreamName, StreamSpec, Topology};
use serde_json::{Value, json};

use super::server::Server;
use super::{only, topology};
use crate::administration::{StreamSettings, wanted};
use crate::pub_ack::NoAck;

/// Those of `keys` that the configuration has.
fn some(config: &Value, keys: &Value) -> Value {
    let keys = keys.as_object().unwrap().keys();
    keys.map(|key| (key.clone(), config[key].clone())).collect::<serde_json::Map<_, _>>().into()
}

#[tokio::test]
async fn streams_are_as_the_protocol_says() {
    let server = Server::start().await;
    let hand = server.hand().await;
    server.admin().await.assert(&topology(), DriftMode::Mend).await.unwrap();
    let everywhere = json!({
        "storage": "file", "num_replicas": 1, "discard": "new", "max_msgs": -1,
        "duplicate_window": 120_000_000_000_u64, "allow_direct": false, "mirror_direct": false,
        "allow_msg_ttl": false, "sealed": false, "deny_delete": false, "consumer_limits": {},
        "allow_atomic": null, "allow_msg_counter": null, "allow_msg_schedules": null, "republish": null,
        "allow_batched": null, "sources": null, "mirror": null, "subject_transform": null,
    });
    let stream = |subjects: Value, others: Value| {
        let mut all = json!({
            "subjects": subjects, "retention": "limits", "max_age": 0, "max_bytes": 67_108_864,
            "max_msgs_per_subject": -1, "max_msg_size": 983_040, "max_consumers": 1,
            "deny_purge": true, "allow_rollup_hdrs": false, "discard_new_per_subject": null,
        });
        all.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        all
    };
    let day = 86_400_000_000_000_u64;
    for (name, expected) in [
        (
            "CONTROL",
            stream(
                json!(["mesh.control.*.report", "mesh.control.built", "mesh.control.enrol"]),
                json!({
                    "retention": "workqueue", "max_msgs_per_subject": 250,
                    "max_msg_size": 131_072, "discard_new_per_subject": true,
                }),
            ),
        ),
        (
            "NODES",
            stream(
                json!(["mesh.node.*.declare"]),
                json!({
                    "max_msgs_per_subject": 1, "discard_new_per_subject": true, "deny_purge": false,
                    "allow_rollup_hdrs": true, "max_consumers": 100_000,
                }),
            ),
        ),
        ("BUILDS", stream(json!(["mesh.build.request"]), json!({ "retention": "workqueue" }))),
        (
            "EVENTS",
            stream(
                json!(["mesh.events.*.>", "mesh.replay.*.>"]),
                json!({
                    "max_age": 7 * day, "max_bytes": 1_073_741_824, "max_msgs_per_subject": 1_000_000,
                    "discard_new_per_subject": true, "max_consumers": 100_000,
                }),
            ),
        ),
        (
            "EVENTS_DEAD",
            stream(json!(["mesh.events.dead"]), json!({ "max_age": 30 * day, "max_msg_size": -1 })),
        ),
        (
            "ADVISORIES",
            stream(
                json!([
                    "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.EVENTS.*",
                    "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.EVENTS.*",
                ]),
                json!({ "max_age": 7 * day }),
            ),
        ),
    ] {
        let config = hand.stream(name).await["config"].clone();
        assert_eq!(some(&config, &everywhere), everywhere, "{name}");
        assert_eq!(some(&config, &expected), expected, "{name}");
    }
}

#[tokio::test]
async fn consumers_are_as_the_protocol_says() {
    let server = Server::start().await;
    let hand = server.hand().await;
    server.admin().await.assert(&topology(), DriftMode::Mend).await.unwrap();
    let everywhere = json!({
        "ack_policy": "explicit", "ack_wait": 30_000_000_000_u64, "replay_policy": "instant",
        "flow_control": null, "idle_heartbeat": null, "backoff": null, "headers_only": null,
        "inactive_threshold": null, "mem_storage": null, "num_replicas": 0, "max_waiting": null,
    });
    for (stream, name, expected) in [
        (
            "CONTROL",
            "controller",
            json!({
                "deliver_policy": "all", "max_deliver": -1, "max_ack_pending": 1,
                "deliver_group": "controller",
                "filter_subjects": ["mesh.control.*.report", "mesh.control.built", "mesh.control.enrol"],
            }),
        ),
        (
            "BUILDS",
            "builder",
            json!({
                "deliver_policy": "all", "max_deliver": -1, "max_ack_pending": 1,
                "deliver_group": "builder", "filter_subjects": ["mesh.build.request"],
            }),
        ),
        (
            "NODES",
            "n1",
            json!({
                "deliver_policy": "last_per_subject", "max_deliver": -1, "max_ack_pending": 1,
                "deliver_group": null, "filter_subjects": ["mesh.node.n1.declare"],
            }),
        ),
        (
            "EVENTS",
            "n1_mail",
            json!({
                "deliver_policy": "new", "max_deliver": 5, "max_ack_pending": 1000,
                "deliver_group": "n1_mail",
                "filter_subjects": ["mesh.events.shop.>", "mesh.replay.n1_mail.>"],
            }),
        ),
    ] {
        let config = hand.consumer(stream, name).await["config"].clone();
        assert_eq!(some(&config, &everywhere), everywhere, "{stream}/{name}");
        assert_eq!(some(&config, &expected), expected, "{stream}/{name}");
        assert_eq!(config["durable_name"], name);
        assert_eq!(config["deliver_subject"], format!("mesh.deliver.{stream}.{name}"));
    }
}

#[tokio::test]
async fn a_declaration_is_replaced_by_a_roll_up_that_knows_the_last_and_by_nothing_else() {
    let server = Server::start().await;
    let hand = server.hand().await;
    let admin = server.admin().await;
    admin.assert(&only(StreamName::Nodes), DriftMode::Mend).await.unwrap();
    let (n1, n2) = ("mesh.node.n1.declare", "mesh.node.n2.declare");
    assert_eq!(hand.append(n1, &[], "1").await.unwrap().seq, 1);
    let plain = hand.append(n1, &[], "2").await.unwrap_err();
    let NoAck::Refused(refused) = plain else { panic!("{plain}") };
    assert!(refused.description.contains("maximum messages per subject"), "{refused}");
    let roll_up = |last| [("Nats-Rollup", "sub"), ("Nats-Expected-Last-Subject-Sequence", last)];
    let stale = hand.append(n1, &roll_up("7"), "2").await.unwrap_err();
    assert!(matches!(&stale, NoAck::Refused(refused) if refused.err_code == 10071), "{stale}");
    assert_eq!(hand.append(n1, &roll_up("1"), "2").await.unwrap().seq, 2);
    assert_eq!(hand.append(n2, &roll_up("0"), "1").await.unwrap().seq, 3);
    let state = admin.inspect(StreamName::Nodes).await.unwrap().unwrap();
    assert_eq!((state.messages, state.last_sequence), (2, Some(3)));
}

#[tokio::test]
async fn no_other_stream_takes_a_roll_up_and_nobody_purges_one_by_an_empty_message() {
    let server = Server::start().await;
    let hand = server.hand().await;
    let admin = server.admin().await;
    admin.assert(&topology(), DriftMode::Mend).await.unwrap();
    for (stream, subject) in [
        (StreamName::Control, "mesh.control.n1.report"),
        (StreamName::Builds, "mesh.build.request"),
        (StreamName::Events, "mesh.events.shop.sold"),
        (StreamName::EventsDead, "mesh.events.dead"),
    ] {
        hand.append_all(subject, &["1", "2"]).await;
        let rolled = hand.append(subject, &[("Nats-Rollup", "all")], "3").await;
        assert!(matches!(rolled, Err(NoAck::Refused(_))), "{stream}: {rolled:?}");
        let purged = hand.ask(&format!("STREAM.PURGE.{stream}"), Value::Null).await;
        assert!(purged["error"].is_object(), "{stream}: {purged}");
        assert_eq!(admin.inspect(stream).await.unwrap().unwrap().messages, 2);
        // One message can be erased, if it is named.
        hand.done(&format!("STREAM.MSG.DELETE.{stream}"), json!({ "seq": 1 })).await;
        assert_eq!(admin.inspect(stream).await.unwrap().unwrap().messages, 1);
    }
}

#[tokio::test]
async fn a_full_subject_refuses_what_is_new_and_keeps_what_it_has() {
    let server = Server::start().await;
    let hand = server.hand().await;
    let admin = server.admin().await;
    let small = small_events(|events| events.max_messages_per_subject = Some(2));
    admin.assert(&small, DriftMode::Mend).await.unwrap();
    hand.append_all("mesh.events.shop.sold", &["1", "2"]).await;
    let third = hand.append("mesh.events.shop.sold", &[], "3").await;
    assert!(matches!(third, Err(NoAck::Refused(_))), "{third:?}");
    hand.append_all("mesh.events.shop.closed", &["1"]).await;
    assert_eq!(admin.inspect(StreamName::Events).await.unwrap().unwrap().messages, 3);
}

/// EVENTS alone, changed.
pub(super) fn small_events(change: impl FnOnce(&mut StreamSpec)) -> Topology {
    let topology = only(StreamName::Events);
    let mut events = topology.stream(StreamName::Events).unwrap().clone();
    change(&mut events);
    topology.with_stream(events)
}

#[test]
fn a_server_is_not_asked_for_what_it_takes_for_granted() {
    // An older one, in strict mode, refuses a field that it does not know.
    let topology = topology();
    for spec in topology.streams() {
        let mut config = serde_json::Map::new();
        for setting in wanted::stream(spec, &StreamSettings::default()).unwrap() {
            setting.put(&mut config);
        }
        for newer in ["allow_batched", "persist_mode", "allow_msg_schedules", "allow_msg_counter"] {
            assert_eq!(config.get(newer), None, "{}", spec.name);
        }
        assert_eq!(config["discard"], "new");
    }
}
