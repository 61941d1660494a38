use mesh_core::port::{Administration as _, DriftMode, Held};
use mesh_core::topology::StreamName;
use serde_json::json;

use super::script::{Script, error};
use super::server::Server;
use super::{consumer, topology};

#[tokio::test]
async fn whatever_there_is_is_listed_and_strangers_are_told_as_such() {
    let server = Server::start().await;
    let (admin, hand) = (server.admin().await, server.hand().await);
    assert_eq!(admin.list().await.unwrap(), []);
    admin.assert(&topology(), DriftMode::Report).await.unwrap();
    hand.done("STREAM.CREATE.ORDERS", json!({ "name": "ORDERS", "subjects": ["orders.>"] })).await;
    let pulled = json!({ "durable_name": "Stranger", "ack_policy": "explicit" });
    hand.make_consumer("create", "EVENTS", "Stranger", pulled).await;
    let mut held = admin.list().await.unwrap();
    held.sort_unstable();
    let mut expected: Vec<_> = StreamName::ALL.into_iter().map(Held::Stream).collect();
    for (stream, name) in [
        (StreamName::Control, "controller"),
        (StreamName::Builds, "builder"),
        (StreamName::Advisories, "controller"),
        (StreamName::Nodes, "n1"),
        (StreamName::Events, "n1_mail"),
    ] {
        expected.push(Held::Consumer(consumer(stream, name)));
    }
    expected.extend(["EVENTS/Stranger", "ORDERS"].map(|name| Held::Other(name.to_owned())));
    expected.sort_unstable();
    assert_eq!(held, expected);
}

#[tokio::test]
async fn names_come_in_pages_and_a_stream_that_goes_meanwhile_has_none() {
    let page = |total: usize, key: &str, names: &[&str]| json!({ "total": total, "offset": 0, "limit": 2, key: names });
    let admin = Script::admin([
        ("STREAM.NAMES", page(3, "streams", &["EVENTS", "ORDERS"])),
        ("STREAM.NAMES", page(3, "streams", &["NODES"])),
        ("CONSUMER.NAMES.EVENTS", page(3, "consumers", &["n1_mail", "n1_crm"])),
        ("CONSUMER.NAMES.EVENTS", page(3, "consumers", &["n1_log"])),
        ("CONSUMER.NAMES.NODES", error(404, 10059, "stream not found")),
    ]);
    let told: Vec<_> = admin.list().await.unwrap().iter().map(ToString::to_string).collect();
    let expected =
        ["EVENTS", "EVENTS/n1_mail", "EVENTS/n1_crm", "EVENTS/n1_log", "ORDERS", "NODES"];
    assert_eq!(told, expected);
    assert!(admin.api.is_over());
    let offsets: Vec<_> =
        admin.api.asked.lock().iter().map(|asked| asked["offset"].as_u64()).collect();
    assert_eq!(offsets, [0, 2, 0, 2, 0].map(Some));
}
