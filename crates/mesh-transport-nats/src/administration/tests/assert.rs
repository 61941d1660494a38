use mesh_core::port::{Administration as _, DriftMode, StreamState};
use mesh_core::topology::{StreamName, Topology};
use serde_json::{Value, json};

use super::server::{Server, settles};
use super::{consumer, only, owed, topology};

#[tokio::test]
async fn an_empty_server_gets_everything_and_a_second_assertion_only_looks() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let hand = server.hand().await;
    assert_eq!(admin.assert(&topology(), DriftMode::Report).await.unwrap(), []);
    let names = hand.done("STREAM.NAMES", Value::Null).await;
    let names: Vec<_> = names["streams"].as_array().unwrap().iter().collect();
    assert_eq!(names, ["ADVISORIES", "BUILDS", "CONTROL", "EVENTS", "EVENTS_DEAD", "NODES"]);
    for (stream, name) in [
        ("CONTROL", "controller"),
        ("BUILDS", "builder"),
        ("ADVISORIES", "controller"),
        ("NODES", "n1"),
        ("EVENTS", "n1_mail"),
    ] {
        assert_eq!(hand.consumer(stream, name).await["push_bound"], Value::Null);
    }

    let before = hand.stream("EVENTS").await["config"].clone();
    for mode in [DriftMode::Report, DriftMode::Mend] {
        admin.api.asked.lock().clear();
        assert_eq!(admin.assert(&topology(), mode).await.unwrap(), []);
        let asked = admin.api.asked.lock().clone();
        assert_eq!(asked.len(), 6 + 5);
        for subject in asked {
            assert!(subject.contains(".INFO."), "{subject} is more than a look");
        }
    }
    assert_eq!(hand.stream("EVENTS").await["config"], before);
}

#[tokio::test]
async fn what_is_stored_and_where_consumers_stand_outlasts_assertions() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let hand = server.hand().await;
    admin.assert(&topology(), DriftMode::Mend).await.unwrap();
    hand.append_all("mesh.events.shop.sold", &["1", "2", "3"]).await;
    hand.append_all("mesh.control.n1.report", &["1"]).await;
    for mode in [DriftMode::Report, DriftMode::Mend] {
        assert_eq!(admin.assert(&topology(), mode).await.unwrap(), []);
    }
    let events = admin.inspect(StreamName::Events).await.unwrap().unwrap();
    let bytes = events.bytes;
    assert!(bytes.is_some_and(|bytes| bytes > 0));
    assert!(events.created.is_some());
    let expected = StreamState {
        messages: 3,
        bytes,
        max_bytes: Some(1 << 30),
        first_sequence: Some(1),
        last_sequence: Some(3),
        consumers: 1,
        created: events.created,
    };
    assert_eq!(events, expected);
    let mail = consumer(StreamName::Events, "n1_mail");
    let owed = owed(3);
    settles(async || admin.inspect_consumer(&mail).await.unwrap(), &Some(owed)).await;
    let control = admin.inspect(StreamName::Control).await.unwrap().unwrap();
    assert_eq!(control.messages, 1);
}

#[tokio::test]
async fn what_the_topology_does_not_name_stays_as_it_is() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let hand = server.hand().await;
    admin.assert(&topology(), DriftMode::Mend).await.unwrap();
    hand.done("STREAM.CREATE.STRANGE", json!({ "name": "STRANGE", "subjects": ["strange.>"] }))
        .await;
    hand.0.request("strange.a", "1".into()).await.unwrap();
    let pulled = json!({ "durable_name": "stranger", "ack_policy": "explicit", "ack_wait": 1 });
    hand.make_consumer("create", "EVENTS", "stranger", pulled).await;
    let strangers = async || {
        let stream = hand.stream("STRANGE").await;
        let consumer = hand.consumer("EVENTS", "stranger").await;
        [stream["config"].clone(), stream["state"].clone(), consumer["config"].clone()]
    };
    let before = strangers().await;
    for topology in [topology(), Topology::new()] {
        for mode in [DriftMode::Report, DriftMode::Mend] {
            assert_eq!(admin.assert(&topology, mode).await.unwrap(), []);
        }
    }
    assert_eq!(strangers().await, before);
    hand.consumer("EVENTS", "n1_mail").await;
}

#[tokio::test]
async fn a_consumer_of_a_stream_that_is_left_out_is_made_if_that_is_there() {
    let server = Server::start().await;
    let admin = server.admin().await;
    admin.assert(&only(StreamName::Events), DriftMode::Mend).await.unwrap();
    let mail = consumer(StreamName::Events, "n1_mail");
    assert!(admin.retire(&mail).await.unwrap());
    let consumers = topology().consumer(&mail).cloned();
    let without = Topology::new();
    let without = StreamName::ALL.into_iter().fold(without, Topology::without_stream);
    let without = without.with_consumer(consumers.unwrap());
    assert_eq!(admin.assert(&without, DriftMode::Mend).await.unwrap(), []);
    assert!(admin.inspect_consumer(&mail).await.unwrap().is_some());
}

#[tokio::test]
async fn retiring_takes_one_consumer_away_and_says_whether_it_was_there() {
    let server = Server::start().await;
    let admin = server.admin().await;
    let mail = consumer(StreamName::Events, "n1_mail");
    let crm = consumer(StreamName::Events, "n1_crm");
    // Nothing is there, not even the stream.
    assert!(!admin.retire(&mail).await.unwrap());
    assert_eq!(admin.inspect(StreamName::Events).await.unwrap(), None);
    assert_eq!(admin.inspect_consumer(&mail).await.unwrap(), None);
    let both = super::with_module(topology(), "crm");
    admin.assert(&both, DriftMode::Mend).await.unwrap();
    for was_there in [true, false] {
        assert_eq!(admin.retire(&mail).await.unwrap(), was_there);
        assert_eq!(admin.inspect_consumer(&mail).await.unwrap(), None);
        assert!(admin.inspect_consumer(&crm).await.unwrap().is_some());
    }
}
