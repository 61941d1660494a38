//! Only what was chosen is put right.

use mesh_core::port::{Administration as _, DriftMode};
use mesh_core::topology::{StreamName, Topology};
use serde_json::{Value, json};

use super::server::Server;
use super::{fields, only};

#[tokio::test]
async fn of_the_differences_of_an_object_the_chosen_one_is_put_right() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    let topology = only(StreamName::Events);
    admin.assert(&topology, DriftMode::Report).await.unwrap();
    let changes = json!({ "max_age": 0, "subjects": ["mesh.events.*.>", "other.>"] });
    hand.change_stream("EVENTS", &changes).await;
    hand.change_consumer("EVENTS", "n1_mail", &json!({ "max_deliver": 9, "ack_wait": 1_000_000 }))
        .await;
    let mut chosen = admin.assert(&topology, DriftMode::Report).await.unwrap();
    chosen.retain(|drift| ["max_age", "ack_wait"].contains(&drift.field));
    let told = |mended| {
        [
            ("EVENTS", "subjects", false),
            ("EVENTS", "max_age", mended),
            ("EVENTS/n1_mail", "ack_wait", mended),
            ("EVENTS/n1_mail", "max_deliver", false),
        ]
    };
    assert_eq!(fields(&admin.mend(&topology, &[]).await.unwrap()), told(false));
    assert_eq!(fields(&admin.mend(&topology, &chosen).await.unwrap()), told(true));
    let left = admin.assert(&topology, DriftMode::Report).await.unwrap();
    let left = fields(&left);
    assert_eq!(left, [told(false)[0], told(false)[3]]);
}

#[tokio::test]
async fn what_is_missing_is_not_made_by_mending() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    let topology = only(StreamName::Events);
    let consumerless = Topology::new();
    assert_eq!(
        admin.mend(&consumerless.without_stream(StreamName::Events), &[]).await.unwrap(),
        []
    );
    assert_eq!(hand.done("STREAM.NAMES", Value::Null).await["total"], 0);
    let events = topology.stream(StreamName::Events).unwrap().clone();
    let none = StreamName::ALL.into_iter().fold(Topology::new(), Topology::without_stream);
    admin.assert(&none.with_stream(events), DriftMode::Report).await.unwrap();
    assert_eq!(admin.mend(&topology, &[]).await.unwrap(), []);
    assert_eq!(hand.done("CONSUMER.NAMES.EVENTS", Value::Null).await["total"], 0);
}

#[tokio::test]
async fn a_consumer_that_does_not_last_keeps_its_threshold_when_that_alone_is_chosen() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    let topology = only(StreamName::Events);
    admin.assert(&topology, DriftMode::Report).await.unwrap();
    let hour = 3_600_000_000_000_u64;
    let passing = json!({ "durable_name": null, "inactive_threshold": hour });
    hand.remake_consumer("EVENTS", "n1_mail", &passing).await;
    let mut chosen = admin.assert(&topology, DriftMode::Report).await.unwrap();
    chosen.retain(|drift| drift.field == "inactive_threshold");
    assert_eq!(chosen.len(), 1);
    let drift = admin.mend(&topology, &chosen).await.unwrap();
    assert!(drift.iter().all(|drift| !drift.mended), "{drift:?}");
    assert_eq!(hand.consumer("EVENTS", "n1_mail").await["config"]["inactive_threshold"], hour);
}
