//! Answers that a server seldom gives, by heart.

use std::time::Duration;

use mesh_core::port::{Administration as _, DriftMode, ErrorKind, Position};
use mesh_core::topology::{StreamName, Topology};
use serde_json::{Value, json};

use super::script::{SILENCE, Script, error, stream_info};
use super::{consumer, fields, only, subject};
use crate::administration::{StreamSettings, wanted};

const INFO: &str = "STREAM.INFO.NODES";
const CREATE: &str = "STREAM.CREATE.NODES";
const UPDATE: &str = "STREAM.UPDATE.NODES";
const INFO_N1: &str = "CONSUMER.INFO.NODES.n1";
const CREATE_N1: &str = "CONSUMER.CREATE.NODES.n1";

fn nodes() -> Topology {
    only(StreamName::Nodes)
}

fn without_consumers() -> Topology {
    let spec = nodes().stream(StreamName::Nodes).unwrap().clone();
    nodes().without_stream(StreamName::Nodes).with_stream(spec)
}

/// What the server has when everything is right, but for these.
fn stream_but(changes: &Value) -> Value {
    let mut config = serde_json::Map::new();
    let spec = nodes().stream(StreamName::Nodes).unwrap().clone();
    for setting in wanted::stream(&spec, &StreamSettings::default()).unwrap() {
        setting.put(&mut config);
    }
    config.extend(changes.as_object().unwrap().clone());
    stream_info(&config.into())
}

fn consumer_but(changes: &Value) -> Value {
    let mut config = serde_json::Map::new();
    let spec = nodes().consumer(&consumer(StreamName::Nodes, "n1")).unwrap().clone();
    for setting in wanted::consumer(&spec).unwrap() {
        setting.put(&mut config);
    }
    config.extend(changes.as_object().unwrap().clone());
    json!({ "config": config, "num_pending": 0, "num_ack_pending": 0 })
}

#[tokio::test]
async fn an_answer_that_is_none_is_a_typed_error() {
    for answer in [
        "",
        "{",
        "[]",
        "null",
        "7",
        "{}",
        "-ERR",
        "{\"config\":{}}",
        "{\"config\":7,\"state\":{}}",
        "{\"error\":\"no\"}",
        "{\"config\":{},\"state\":{\"messages\":-1}}",
        "\u{feff}{}",
    ] {
        let script = |subject| Script::verbatim([(subject, answer.to_owned())]);
        let of = consumer(StreamName::Nodes, "n1");
        let errors = [
            script(INFO).assert(&nodes(), DriftMode::Mend).await.err(),
            script(INFO).inspect(StreamName::Nodes).await.err(),
            script(INFO_N1).inspect_consumer(&of).await.err(),
            script("STREAM.MSG.GET.NODES")
                .read(StreamName::Nodes, Position::Sequence(1))
                .await
                .err(),
        ];
        for error in errors {
            let error = error.unwrap_or_else(|| panic!("{answer:?} was taken for an answer"));
            assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Broker, false), "{error}");
            assert!(std::error::Error::source(&error).is_some());
        }
    }
}

#[tokio::test]
async fn a_message_that_is_not_the_one_asked_for_or_not_readable_is_a_typed_error() {
    let whole = json!({
        "subject": "mesh.node.n1.declare", "seq": 3, "data": "e30=", "time": "2026-03-01T10:00:00.123456789Z",
    });
    let read = async |changes: Value, position: Position| {
        let mut message = whole.clone();
        message.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let script = Script::admin([("STREAM.MSG.GET.NODES", json!({ "message": message }))]);
        script.read(StreamName::Nodes, position).await
    };
    let third = Position::Sequence(3);
    let stored = read(json!({}), third.clone()).await.unwrap().unwrap();
    assert_eq!((&stored.message.payload()[..], stored.time.as_millis() % 1000), (&b"{}"[..], 123));
    for (changes, position) in [
        (json!({ "seq": 4 }), third.clone()),
        (json!({}), Position::LastOf(subject("mesh.node.n2.declare"))),
        (json!({ "data": "*" }), third.clone()),
        (json!({ "data": 7 }), third.clone()),
        (json!({ "hdrs": "e30" }), third.clone()),
        (json!({ "hdrs": "e30=" }), third.clone()),
        (json!({ "time": "yesterday" }), third.clone()),
        (json!({ "subject": "mesh..declare" }), third.clone()),
        (json!({ "seq": "3" }), third.clone()),
    ] {
        let error = read(changes.clone(), position).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Broker, "{changes}: {error}");
    }
}

#[tokio::test]
async fn who_comes_second_compares() {
    let admin = Script::admin([
        (INFO, error(404, 10059, "stream not found")),
        (CREATE, error(400, 10058, "stream name already in use with a different configuration")),
        (INFO, stream_but(&json!({ "max_bytes": 7 }))),
        (INFO_N1, error(404, 10014, "consumer not found")),
        (CREATE_N1, error(400, 10148, "consumer already exists")),
        (INFO_N1, consumer_but(&json!({ "ack_wait": 7 }))),
    ]);
    let drift = admin.assert(&nodes(), DriftMode::Report).await.unwrap();
    assert_eq!(fields(&drift), [("NODES", "max_bytes", false), ("NODES/n1", "ack_wait", false)]);
    assert_eq!((&*drift[1].expected, &*drift[1].found), ("30s", "7ns"));
    assert!(admin.api.is_over());
}

#[tokio::test]
async fn one_that_is_deleted_meanwhile_is_an_error() {
    let taken = error(400, 10058, "stream name already in use with a different configuration");
    let admin = Script::admin([
        (INFO, error(404, 10059, "stream not found")),
        (CREATE, taken),
        (INFO, error(404, 10059, "stream not found")),
    ]);
    let error_of = admin.assert(&nodes(), DriftMode::Mend).await.unwrap_err();
    assert_eq!(error_of.kind(), ErrorKind::Broker);
    let admin = Script::admin([
        (INFO, stream_but(&json!({ "max_bytes": 7 }))),
        (UPDATE, error(404, 10059, "stream not found")),
    ]);
    let error_of = admin.assert(&nodes(), DriftMode::Mend).await.unwrap_err();
    assert_eq!(error_of.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_server_that_can_not_answer_now_is_an_error_and_no_drift() {
    let admin = Script::admin([
        (INFO, stream_but(&json!({ "max_bytes": 7 }))),
        (UPDATE, error(503, 10008, "JetStream system temporarily unavailable")),
    ]);
    let error_of = admin.assert(&nodes(), DriftMode::Mend).await.unwrap_err();
    assert_eq!((error_of.kind(), error_of.may_retry()), (ErrorKind::Broker, true));
    assert!(admin.api.is_over());
}

#[tokio::test]
async fn what_is_refused_as_a_whole_is_asked_for_one_by_one_as_long_as_something_is_taken() {
    let no = error(500, 10052, "not so");
    let before = json!({ "max_bytes": 7, "max_consumers": 7, "allow_direct": true });
    let second = json!({ "max_bytes": 7, "allow_direct": true });
    let third = json!({ "allow_direct": true });
    let admin = Script::admin([
        (INFO, stream_but(&before)),
        (UPDATE, no.clone()),
        // max_bytes, which needs max_consumers first; max_consumers; allow_direct.
        (UPDATE, no.clone()),
        (UPDATE, stream_but(&second)),
        (UPDATE, no.clone()),
        // Again what was refused, until nothing more is taken.
        (UPDATE, stream_but(&third)),
        (UPDATE, no.clone()),
        (UPDATE, no),
    ]);
    let drift = admin.assert(&without_consumers(), DriftMode::Mend).await.unwrap();
    let told = [("max_bytes", true), ("max_consumers", true), ("allow_direct", false)];
    assert_eq!(fields(&drift), told.map(|(field, mended)| ("NODES", field, mended)));
    assert!(admin.api.is_over());
}

#[tokio::test]
async fn a_server_that_says_yes_and_changes_nothing_has_mended_nothing() {
    let off = stream_but(&json!({ "allow_direct": true }));
    let admin = Script::admin([(INFO, off.clone()), (UPDATE, off.clone())]);
    let drift = admin.assert(&without_consumers(), DriftMode::Mend).await.unwrap();
    assert_eq!(fields(&drift), [("NODES", "allow_direct", false)]);
    // The same for one that it makes.
    let absent = error(404, 10059, "stream not found");
    let admin = Script::admin([(INFO, absent), (CREATE, off)]);
    let drift = admin.assert(&without_consumers(), DriftMode::Mend).await.unwrap();
    assert_eq!(fields(&drift), [("NODES", "allow_direct", false)]);
}

#[tokio::test]
async fn what_a_server_fills_in_is_no_drift() {
    let filled = json!({
        "max_age": 0, "max_msgs": -1, "compression": "none", "mirror_direct": false, "sealed": false,
        "consumer_limits": {}, "metadata": { "_nats.level": "5", "_nats.ver": "9.9" }, "sources": [],
        "deny_delete": false, "republish": null, "of_a_server_to_come": { "a": 1 },
        "num_replicas": 0,
    });
    let consumer = json!({
        "max_deliver": 0, "num_replicas": 0, "metadata": { "_nats.level": "5" }, "backoff": [],
        "idle_heartbeat": 0, "pause_until": "2026-03-01T10:00:00Z", "sample_freq": "",
        "filter_subject": "mesh.node.n1.declare",
    });
    let admin = Script::admin([(INFO, stream_but(&filled)), (INFO_N1, consumer_but(&consumer))]);
    assert_eq!(admin.assert(&nodes(), DriftMode::Mend).await.unwrap(), []);
}

#[tokio::test]
async fn subjects_are_counted_page_by_page() {
    const EVENTS: &str = "STREAM.INFO.EVENTS";
    let spec = only(StreamName::Events).stream(StreamName::Events).unwrap().clone();
    let topology =
        only(StreamName::Events).without_stream(StreamName::Events).with_stream(spec.clone());
    let mut config = serde_json::Map::new();
    for setting in wanted::stream(&spec, &StreamSettings::default()).unwrap() {
        setting.put(&mut config);
    }
    config["max_msgs_per_subject"] = 5_000_000.into();
    let info = |subjects: Value| {
        let mut info = stream_info(&json!(config));
        info["state"]["messages"] = 3_000_000.into();
        info["state"]["subjects"] = subjects;
        info["total"] = 3.into();
        info
    };
    let first = info(json!({ "a": 1, "b": 2 }));
    let admin = Script::admin([
        (EVENTS, info(Value::Null)),
        (EVENTS, first.clone()),
        (EVENTS, info(json!({ "c": 2_999_997 }))),
    ]);
    let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
    assert_eq!(fields(&drift), [("EVENTS", "max_messages_per_subject", false)]);
    let bodies = admin.api.asked.lock().clone();
    assert_eq!(bodies[1], json!({ "subjects_filter": ">", "offset": 0 }));
    assert_eq!(bodies[2], json!({ "subjects_filter": ">", "offset": 2 }));
    // A server that says nothing more ends it.
    let mended = json!({ "config": {} });
    let admin = Script::admin([
        (EVENTS, info(Value::Null)),
        (EVENTS, first),
        (EVENTS, info(Value::Null)),
        ("STREAM.UPDATE.EVENTS", mended),
    ]);
    admin.assert(&topology, DriftMode::Mend).await.unwrap();
    assert!(admin.api.is_over());
}

#[tokio::test]
async fn a_retirement_that_is_refused_is_an_error() {
    let refused = error(503, 10008, "JetStream system temporarily unavailable");
    let admin = Script::admin([("CONSUMER.DELETE.NODES.n1", refused)]);
    let error = admin.retire(&consumer(StreamName::Nodes, "n1")).await.unwrap_err();
    assert_eq!((error.kind(), error.subject()), (ErrorKind::Broker, Some("NODES/n1")));
}

#[tokio::test]
async fn a_look_that_is_not_answered_is_taken_again_within_its_time_and_a_change_is_not() {
    let silent = |subject| (subject, SILENCE.to_owned());
    let of = consumer(StreamName::Nodes, "n1");
    let there = consumer_but(&json!({})).to_string();
    let admin = Script::verbatim([silent(INFO_N1), (INFO_N1, there)]);
    assert!(admin.inspect_consumer(&of).await.unwrap().is_some());
    let admin = Script::verbatim([silent(INFO_N1), silent(INFO_N1), silent(INFO_N1)]);
    let error = admin.inspect_consumer(&of).await.unwrap_err();
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::TimedOut, true));
    assert_eq!(admin.api.waited.lock().iter().sum::<Duration>(), Duration::from_secs(5));
    let admin = Script::verbatim([silent("CONSUMER.DELETE.NODES.n1")]);
    let error = admin.retire(&of).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!(*admin.api.waited.lock(), [Duration::from_secs(5)]);
}
