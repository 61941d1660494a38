use std::time::Duration;

use mesh_core::port::{ConsumeOptions, ErrorKind, ReceiveError};
use serde_json::json;

use super::*;
use crate::connect;

#[tokio::test]
async fn a_queue_that_is_gone_ends_its_reader_by_name_and_one_that_is_back_is_read_again() {
    // A classic one: a quorum queue that is back within some milliseconds takes the reader of the one that is
    // gone for its own, and nobody is told (3.10.8).
    let bed = Bed::new().await;
    bed.exchange("mesh.events").await;
    let queue = async || {
        bed.queue("n1.mail.events", json!({})).await;
        bed.bind("mesh.events", "n1.mail.events", "shop.*.#").await;
    };
    queue().await;
    let mail = bed.connect("n1.mail").await;
    let mut deliveries = read(&mail, of_mail(), ConsumeOptions::default()).await;
    append(&mail, "mesh.events.shop.sold", "1").await;
    let held = next(&mut deliveries, "1").await;
    bed.delete("queues", "n1.mail.events").await;
    queue().await;
    // It is heard of by whoever reads on; what came from the queue before is nobody's any more.
    let reading_on = async { next(&mut deliveries, "2").await };
    let again = async {
        append(&mail, "mesh.events.shop.sold", "2").await;
    };
    let (delivery, ()) = tokio::join!(reading_on, again);
    ack(delivery).await;
    let late = come(held.ack()).await;
    assert!(late.as_ref().is_err_and(|error| error.kind() == ErrorKind::Disconnected), "{late:?}");

    bed.delete("queues", "n1.mail.events").await;
    match told(&mut deliveries).await {
        ReceiveError::Ended(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
            assert_eq!(error.subject(), Some("EVENTS/n1_mail"));
            assert!(error.to_string().contains("n1.mail.events"), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert!(come(deliveries.next()).await.is_none());
}

/// Ends all connections of the user.
async fn kick(bed: &Bed, user: &str) {
    let management = bed.host.management();
    let mut kicked = 0;
    // The node lists a connection some seconds after it was made.
    while kicked < 2 {
        let all = management.get(&["vhosts", bed.host.name(), "connections"]).await.unwrap();
        for connection in all.as_array().unwrap() {
            if connection["user"] == user {
                let name = connection["name"].as_str().unwrap();
                kicked += usize::from(management.delete(&["connections", name]).await.is_ok());
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_lost_session_loses_its_claims_and_what_was_not_settled_comes_again_without_a_word() {
    let bed = bed(&["shop.>"]).await;
    let mail = bed.connect("n1.mail").await;
    let mut deliveries = read(&mail, of_mail(), ConsumeOptions::default()).await;
    append(&mail, "mesh.events.shop.sold", "1").await;
    append(&mail, "mesh.events.shop.sold", "2").await;
    ack(next(&mut deliveries, "1").await).await;
    come(mail.transport().flush(Duration::from_secs(20))).await.unwrap();
    let held = next(&mut deliveries, "2").await;
    come(kick(&bed, "n1.mail")).await;
    let again = next(&mut deliveries, "2").await;
    assert_eq!(again.info().attempt, 2);
    let late = come(held.ack()).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Disconnected, "{late}");
    ack(again).await;
    append(&mail, "mesh.events.shop.sold", "3").await;
    ack(next(&mut deliveries, "3").await).await;
}

#[tokio::test]
async fn close_names_the_verdicts_that_were_lost_with_a_session_before_it() {
    let bed = bed(&["shop.>"]).await;
    let mail = bed.connect("n1.mail").await;
    let mut deliveries = read(&mail, of_mail(), ConsumeOptions::default()).await;
    append(&mail, "mesh.events.shop.sold", "1").await;
    ack(next(&mut deliveries, "1").await).await;
    come(kick(&bed, "n1.mail")).await;
    append(&mail, "mesh.events.shop.sold", "2").await;
    // Whether the broker had it shows here, and is known to nobody before.
    let mut seen = come(deliveries.next()).await.unwrap().unwrap();
    while seen.message().payload() != "2" {
        seen = come(deliveries.next()).await.unwrap().unwrap();
    }
    let report = come(mail.transport().close(Duration::from_secs(20))).await;
    assert_eq!(report.lost, 1, "{report:?}");
}

#[tokio::test]
async fn a_delay_beyond_the_brokers_patience_is_refused_and_the_delivery_comes_at_once() {
    let bed = bed(&["shop.>"]).await;
    let options =
        AmqpOptions { consumer_timeout: Duration::from_secs(60), ..AmqpOptions::default() };
    let mail = connect(bed.target("n1.mail"), options).await.unwrap();
    let mut deliveries = read(&mail, of_mail(), ConsumeOptions::default()).await;
    append(&mail, "mesh.events.shop.sold", "1").await;
    for delay in [Duration::from_secs(60), Duration::MAX] {
        let refused = come(next(&mut deliveries, "1").await.nak(Some(delay))).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
    }
    let last = next(&mut deliveries, "1").await;
    assert_eq!(last.info().attempt, 3);
    ack(last).await;
}

#[tokio::test]
async fn who_holds_a_declaration_that_was_replaced_does_not_bring_it_back() {
    let bed = Bed::new().await;
    let topology = Topology::new().with_node(&"n1".parse().unwrap());
    let controller = bed.controller().await;
    let administration = controller.administration().unwrap();
    come(administration.assert(&topology, DriftMode::Report)).await.unwrap();
    let host = bed.host_of("n1").await;
    let of_node = consumer(StreamName::Nodes, "n1");
    let mut deliveries = read(&host, of_node.clone(), ConsumeOptions::default()).await;
    append(&controller, "mesh.node.n1.declare", "old").await;
    let old = next(&mut deliveries, "old").await;
    append(&controller, "mesh.node.n1.declare", "new").await;
    let new = next(&mut deliveries, "new").await;
    come(old.nak(None)).await.unwrap();
    come(new.nak(None)).await.unwrap();
    ack(next(&mut deliveries, "new").await).await;
    come(host.transport().flush(Duration::from_secs(20))).await.unwrap();
    let state = come(administration.inspect_consumer(&of_node)).await.unwrap().unwrap();
    assert_eq!(state.pending, 0);
}
