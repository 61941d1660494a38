use mesh_core::port::{Administration as _, DriftMode};
use mesh_core::topology::StreamName;
use serde_json::{Value, json};

use super::look::small_events;
use super::server::{Hand, Plain, Server, changed, settles};
use super::{fields, only};
use crate::administration::Admin;

/// A server that holds EVENTS with one consumer.
async fn events() -> (Server, Admin<Plain>, Hand) {
    let server = Server::start().await;
    let admin = server.admin().await;
    let hand = server.hand().await;
    admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    (server, admin, hand)
}

/// How many messages there are, and how many the consumer has yet to get.
async fn stored(hand: &Hand) -> Value {
    let state = hand.stream("EVENTS").await["state"].clone();
    let mail = hand.consumer("EVENTS", "n1_mail").await;
    json!([state["messages"], mail["num_pending"]])
}

#[tokio::test]
async fn each_setting_of_a_stream_is_reported_and_mended() {
    let (_server, admin, hand) = events().await;
    let topology = only(StreamName::Events);
    hand.append_all("mesh.events.shop.sold", &["1", "2", "3"]).await;
    let before = json!([3, 3]);
    settles(async || stored(&hand).await, &before).await;
    let pristine = hand.stream("EVENTS").await["config"].clone();
    for (changes, expected) in [
        (json!({ "subjects": ["mesh.events.*.>", "other.>"] }), vec!["subjects"]),
        (json!({ "subjects": ["mesh.replay.*.>"] }), vec!["subjects"]),
        (json!({ "max_age": 1_000_000_000_000_u64 }), vec!["max_age"]),
        (json!({ "max_age": 0 }), vec!["max_age"]),
        (json!({ "duplicate_window": 1_000_000_000 }), vec!["deduplication_window"]),
        (
            json!({ "discard": "old", "discard_new_per_subject": false }),
            vec!["discard", "discard_new_per_subject"],
        ),
        (json!({ "max_bytes": 1_000_000 }), vec!["max_bytes"]),
        (json!({ "max_bytes": -1 }), vec!["max_bytes"]),
        (json!({ "max_msgs": 10 }), vec!["max_messages"]),
        (json!({ "max_msgs_per_subject": 10 }), vec!["max_messages_per_subject"]),
        (json!({ "max_msgs_per_subject": 5_000_000 }), vec!["max_messages_per_subject"]),
        (
            json!({ "max_msgs_per_subject": -1, "discard_new_per_subject": false }),
            vec!["max_messages_per_subject", "discard_new_per_subject"],
        ),
        (json!({ "discard_new_per_subject": false }), vec!["discard_new_per_subject"]),
        (json!({ "max_msg_size": 100 }), vec!["max_message_bytes"]),
        (json!({ "max_msg_size": -1 }), vec!["max_message_bytes"]),
        (json!({ "max_consumers": 7 }), vec!["max_consumers"]),
        (json!({ "max_consumers": -1 }), vec!["max_consumers"]),
        (json!({ "no_ack": true }), vec!["no_ack"]),
        (json!({ "allow_direct": true }), vec!["allow_direct"]),
        (json!({ "allow_atomic": true }), vec!["allow_atomic"]),
        (json!({ "allow_batched": true }), vec!["allow_batched"]),
        (json!({ "republish": { "src": ">", "dest": "copy.>" } }), vec!["republish"]),
        (
            json!({ "subject_transform": { "src": "mesh.events.shop.>", "dest": "mesh.events.x.>" } }),
            vec!["subject_transform"],
        ),
        (json!({ "sources": [{ "name": "ELSEWHERE" }] }), vec!["sources"]),
        (json!({ "consumer_limits": { "max_ack_pending": 5000 } }), vec!["consumer_limits"]),
    ] {
        hand.change_stream("EVENTS", &changes).await;
        let told =
            |mended| expected.iter().map(|field| ("EVENTS", *field, mended)).collect::<Vec<_>>();
        for _twice in 0..2 {
            let drift = admin.assert(&topology, DriftMode::Report).await.unwrap();
            assert_eq!(fields(&drift), told(false), "{changes}");
            assert!(drift.iter().all(|drift| drift.expected != drift.found), "{drift:?}");
        }
        let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
        assert_eq!(fields(&drift), told(true), "{changes}");
        assert_eq!(admin.assert(&topology, DriftMode::Report).await.unwrap(), [], "{changes}");
        assert_eq!(hand.stream("EVENTS").await["config"], pristine, "{changes}");
        assert_eq!(stored(&hand).await, before, "{changes}");
    }
}

#[tokio::test]
async fn what_a_server_can_not_change_is_named_and_the_rest_is_mended() {
    let (_server, _admin, hand) = events().await;
    let topology = small_events(|events| events.max_bytes = 2_000_000);
    let pristine = hand.stream("EVENTS").await["config"].clone();
    let mail = hand.consumer("EVENTS", "n1_mail").await["config"].clone();
    for (changes, expected) in [
        (json!({ "retention": "workqueue" }), vec!["retention"]),
        (json!({ "retention": "interest" }), vec!["retention"]),
        (json!({ "storage": "memory" }), vec!["storage"]),
        (json!({ "allow_msg_ttl": true }), vec!["allow_msg_ttl"]),
        (
            json!({
                "allow_msg_schedules": true, "discard": "old", "discard_new_per_subject": false,
            }),
            vec!["allow_msg_schedules"],
        ),
        (
            json!({
                "allow_msg_counter": true, "discard": "old", "discard_new_per_subject": false,
            }),
            vec!["allow_msg_counter"],
        ),
        (json!({ "persist_mode": "async" }), vec!["persist_mode"]),
    ] {
        let server = Server::start().await;
        let (admin, hand) = (server.admin().await, server.hand().await);
        let small = changed(&pristine, &json!({ "max_bytes": 1_000_000 }));
        hand.done("STREAM.CREATE.EVENTS", changed(&small, &changes)).await;
        let changed = hand.stream("EVENTS").await["config"].clone();
        if changes["retention"] == "workqueue" {
            let mut all = mail.clone();
            all["deliver_policy"] = "all".into();
            hand.make_consumer("create", "EVENTS", "n1_mail", all).await;
        } else {
            hand.make_consumer("create", "EVENTS", "n1_mail", mail.clone()).await;
        }
        // A counter takes nothing but numbers.
        let mut before = json!([0, 0]);
        if !expected.contains(&"allow_msg_counter") {
            hand.append_all("mesh.events.shop.sold", &["1", "2", "3"]).await;
            before = json!([3, 3]);
        }
        settles(async || stored(&hand).await, &before).await;
        let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
        let drift = fields(&drift);
        for field in &expected {
            assert!(drift.contains(&("EVENTS", field, false)), "{changes}: {drift:?}");
        }
        assert!(drift.contains(&("EVENTS", "max_bytes", true)), "{changes}: {drift:?}");
        let left = admin.assert(&topology, DriftMode::Report).await.unwrap();
        assert!(left.iter().all(|drift| drift.field != "max_bytes"), "{left:?}");
        assert!(left.iter().any(|drift| drift.field == expected[0]), "{left:?}");
        let now = hand.stream("EVENTS").await["config"].clone();
        assert_eq!(now[expected[0]], changed[expected[0]], "it was not changed");
        assert_eq!(stored(&hand).await, before, "{changes}");
    }
}

#[tokio::test]
async fn a_purge_that_was_denied_on_nodes_can_not_be_allowed_again() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let hand = server.hand().await;
    let topology = only(StreamName::Nodes);
    admin.assert(&topology, DriftMode::Mend).await.unwrap();
    hand.append_all("mesh.node.n1.declare", &["1"]).await;
    let changes = json!({ "deny_purge": true, "allow_rollup_hdrs": false, "max_bytes": 1_000_000 });
    hand.change_stream("NODES", &changes).await;
    let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
    let expected = [
        ("NODES", "max_bytes", true),
        ("NODES", "deny_purge", false),
        ("NODES", "allow_rollup_hdrs", false),
    ];
    assert_eq!(fields(&drift), expected);
    assert_eq!(hand.stream("NODES").await["state"]["messages"], 1);
}

#[tokio::test]
async fn an_unhardened_stream_of_declarations_is_hardened_and_keeps_the_newest() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let hand = server.hand().await;
    let topology = only(StreamName::Nodes);
    let soft =
        json!({ "name": "NODES", "subjects": ["mesh.node.*.declare"], "max_msgs_per_subject": 5 });
    hand.done("STREAM.CREATE.NODES", soft).await;
    hand.append_all("mesh.node.n1.declare", &["1", "2"]).await;
    hand.append_all("mesh.node.n2.declare", &["1"]).await;
    let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
    assert!(drift.iter().all(|drift| drift.mended), "{drift:?}");
    assert_eq!(admin.assert(&topology, DriftMode::Report).await.unwrap(), []);
    assert_eq!(hand.stream("NODES").await["state"]["messages"], 2);
    assert!(hand.append("mesh.node.n1.declare", &[], "3").await.is_err());
    let last =
        hand.ask("STREAM.MSG.GET.NODES", json!({ "last_by_subj": "mesh.node.n1.declare" })).await;
    assert_eq!(last["message"]["seq"], 2);
}

#[tokio::test]
async fn a_lower_limit_of_a_subject_waits_until_nothing_is_lost_by_it() {
    let (_server, admin, hand) = events().await;
    let low = small_events(|events| {
        events.max_messages_per_subject = Some(2);
        events.max_bytes /= 2;
    });
    hand.append_all("mesh.events.shop.sold", &["1", "2", "3"]).await;
    hand.append_all("mesh.events.shop.closed", &["1"]).await;
    let drift = admin.assert(&low, DriftMode::Mend).await.unwrap();
    let told = [("EVENTS", "max_bytes", true), ("EVENTS", "max_messages_per_subject", false)];
    assert_eq!(fields(&drift), told);
    assert_eq!(hand.stream("EVENTS").await["state"]["messages"], 4);
    hand.done("STREAM.MSG.DELETE.EVENTS", json!({ "seq": 1 })).await;
    let drift = admin.assert(&low, DriftMode::Mend).await.unwrap();
    assert_eq!(fields(&drift), [("EVENTS", "max_messages_per_subject", true)]);
    assert_eq!(hand.stream("EVENTS").await["state"]["messages"], 3);
}

#[tokio::test]
async fn fewer_bytes_than_are_stored_refuse_what_is_new_and_drop_nothing() {
    let (_server, admin, hand) = events().await;
    hand.change_stream("EVENTS", &json!({ "discard": "old", "discard_new_per_subject": false }))
        .await;
    hand.append_all("mesh.events.shop.sold", &["1", "2", "3"]).await;
    let tiny = small_events(|events| events.max_bytes = 100);
    let drift = admin.assert(&tiny, DriftMode::Mend).await.unwrap();
    let told = ["discard", "max_bytes", "discard_new_per_subject"];
    assert_eq!(fields(&drift), told.map(|field| ("EVENTS", field, true)));
    assert_eq!(hand.stream("EVENTS").await["state"]["messages"], 3);
    assert!(hand.append("mesh.events.shop.sold", &[], "4").await.is_err());
}

#[tokio::test]
async fn what_this_crate_does_not_know_keeps_its_value() {
    let (_server, admin, hand) = events().await;
    let own = json!({
        "description": "ours", "metadata": { "owner": "ops" }, "compression": "s2",
        "deny_delete": true, "max_bytes": 1_000_000,
    });
    hand.change_stream("EVENTS", &own).await;
    let drift = admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    assert_eq!(fields(&drift), [("EVENTS", "max_bytes", true)]);
    let config = hand.stream("EVENTS").await["config"].clone();
    assert_eq!(config["description"], "ours");
    assert_eq!(config["metadata"]["owner"], "ops");
    assert_eq!(config["compression"], "s2");
    assert_eq!(config["deny_delete"], true);
    let rules =
        json!({ "description": "mine", "metadata": { "owner": "ops" }, "ack_wait": 1_000_000 });
    hand.change_consumer("EVENTS", "n1_mail", &rules).await;
    let drift = admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    assert_eq!(fields(&drift), [("EVENTS/n1_mail", "ack_wait", true)]);
    let config = hand.consumer("EVENTS", "n1_mail").await["config"].clone();
    assert_eq!(
        (&config["description"], &config["metadata"]["owner"]),
        (&json!("mine"), &json!("ops"))
    );
}

#[tokio::test]
async fn a_stream_may_take_a_subject_that_another_gives_up() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let hand = server.hand().await;
    // As it was before dead letters had a stream of their own.
    let wide = json!({ "name": "EVENTS", "subjects": ["mesh.events.>"], "max_bytes": 1_000_000 });
    hand.done("STREAM.CREATE.EVENTS", wide).await;
    let both = only(StreamName::Events);
    let dead = super::topology().stream(StreamName::EventsDead).unwrap().clone();
    let drift = admin.assert(&both.with_stream(dead), DriftMode::Mend).await.unwrap();
    assert!(fields(&drift).contains(&("EVENTS", "subjects", true)), "{drift:?}");
    hand.append_all("mesh.events.dead", &["1"]).await;
    assert_eq!(hand.stream("EVENTS_DEAD").await["state"]["messages"], 1);
}

#[tokio::test]
async fn a_stream_that_must_drop_the_oldest_keeps_its_size() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    // Schedules can't be switched off, and go with no other policy.
    let scheduled = json!({
        "name": "EVENTS", "subjects": ["mesh.events.*.>", "mesh.replay.*.>"], "discard": "old",
        "allow_msg_schedules": true, "allow_msg_ttl": true, "max_bytes": 1_000_000,
    });
    hand.done("STREAM.CREATE.EVENTS", scheduled).await;
    hand.append_all("mesh.events.shop.sold", &["1", "2", "3"]).await;
    let tiny = small_events(|events| events.max_bytes = 100);
    let drift = admin.assert(&tiny, DriftMode::Mend).await.unwrap();
    for field in ["discard", "max_bytes", "allow_msg_schedules"] {
        assert!(fields(&drift).contains(&("EVENTS", field, false)), "{drift:?}");
    }
    assert!(fields(&drift).contains(&("EVENTS", "max_age", true)), "{drift:?}");
    assert_eq!(hand.stream("EVENTS").await["state"]["messages"], 3);
}
