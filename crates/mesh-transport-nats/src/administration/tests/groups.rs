//! A consumer whose group is put right delivers to that group, which its configuration alone does not
//! prove.

use std::time::Duration;

use async_nats::Subscriber;
use futures_util::StreamExt as _;
use mesh_core::port::{Administration as _, DriftMode};
use mesh_core::topology::StreamName;
use serde_json::json;

use super::server::{Hand, Server, settles};
use super::{consumer, fields, only};

/// Reads one delivery, settles it, and tells its body.
async fn one(hand: &Hand, reading: &mut Subscriber) -> String {
    let next = tokio::time::timeout(Duration::from_secs(20), reading.next()).await;
    let delivery = next.expect("nothing is delivered").unwrap();
    hand.0.request(delivery.reply.unwrap(), "+ACK".into()).await.unwrap();
    String::from_utf8(delivery.payload.to_vec()).unwrap()
}

#[tokio::test]
async fn a_shared_consumer_that_lost_its_group_delivers_to_it_again() {
    for changes in [
        json!({ "deliver_group": null }),
        json!({ "deliver_group": "another" }),
        json!({ "deliver_group": "another", "deliver_subject": "elsewhere.a" }),
    ] {
        let server = Server::start().await;
        let (admin, hand) = (server.admin().await, server.hand().await);
        let topology = only(StreamName::Events);
        let mail = consumer(StreamName::Events, "n1_mail");
        admin.assert(&topology, DriftMode::Mend).await.unwrap();
        hand.append_all("mesh.events.shop.sold", &["1"]).await;
        hand.remake_consumer("EVENTS", "n1_mail", &changes).await;
        hand.append_all("mesh.events.shop.sold", &["2"]).await;
        let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
        assert!(drift.iter().all(|drift| drift.mended), "{drift:?}");

        let subject = "mesh.deliver.EVENTS.n1_mail";
        let mut group = hand.0.queue_subscribe(subject, "n1_mail".into()).await.unwrap();
        assert_eq!(one(&hand, &mut group).await, "2");
        group.unsubscribe().await.unwrap();
        // Who listens without the group is no reader.
        let mut outsider = hand.0.subscribe(subject).await.unwrap();
        hand.append_all("mesh.events.shop.sold", &["3"]).await;
        let owed = Some(super::owed(1));
        settles(async || admin.inspect_consumer(&mail).await.unwrap(), &owed).await;
        outsider.unsubscribe().await.unwrap();
        let mut group = hand.0.queue_subscribe(subject, "n1_mail".into()).await.unwrap();
        assert_eq!(one(&hand, &mut group).await, "3");
    }
}

#[tokio::test]
async fn a_consumer_of_one_reader_that_got_a_group_delivers_without_it_again() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    let topology = only(StreamName::Nodes);
    admin.assert(&topology, DriftMode::Mend).await.unwrap();
    hand.remake_consumer("NODES", "n1", &json!({ "deliver_group": "another" })).await;
    hand.append_all("mesh.node.n1.declare", &["1"]).await;
    let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
    assert_eq!(fields(&drift), [("NODES/n1", "shared", true)]);
    let mut reader = hand.0.subscribe("mesh.deliver.NODES.n1").await.unwrap();
    assert_eq!(one(&hand, &mut reader).await, "1");
}

#[tokio::test]
async fn a_group_stays_while_somebody_reads_and_the_reader_keeps_reading() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    let topology = only(StreamName::Events);
    admin.assert(&topology, DriftMode::Mend).await.unwrap();
    hand.remake_consumer("EVENTS", "n1_mail", &json!({ "deliver_group": "another" })).await;
    let subject = "mesh.deliver.EVENTS.n1_mail";
    let mut reader = hand.0.queue_subscribe(subject, "another".into()).await.unwrap();
    hand.append_all("mesh.events.shop.sold", &["1"]).await;
    assert_eq!(one(&hand, &mut reader).await, "1");
    hand.change_consumer("EVENTS", "n1_mail", &json!({ "max_deliver": 9 })).await;
    let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
    let told = [("EVENTS/n1_mail", "shared", false), ("EVENTS/n1_mail", "max_deliver", true)];
    assert_eq!(fields(&drift), told);
    hand.append_all("mesh.events.shop.sold", &["2"]).await;
    assert_eq!(one(&hand, &mut reader).await, "2");
    // Gone, it no longer stands in the way.
    reader.unsubscribe().await.unwrap();
    hand.0.flush().await.unwrap();
    let drift = admin.assert(&topology, DriftMode::Mend).await.unwrap();
    assert_eq!(fields(&drift), [("EVENTS/n1_mail", "shared", true)]);
}
