use mesh_core::store::{BucketName, KeyValue as _, StoreErrorKind};
use mesh_transport_nats::BucketSettings;
use serde_json::json;

use crate::bed::{Server, bucket, small};

#[tokio::test]
async fn an_administrator_makes_a_bucket_once_and_changes_none() {
    let server = Server::start().await.unwrap();
    let administrator = server.connect("state.1.administrator").await.unwrap();
    administrator.create(&bucket("small"), small()).await.unwrap();
    let other = BucketSettings { max_bytes: 8192, ..small() };
    let error = administrator.create(&bucket("small"), other).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "store: failed (the bucket was made otherwise: max_bytes is 4096, not 8192)"
    );
    let found = server.bucket("state.1.gw1", "small").await.unwrap();
    assert_eq!((found.max_value(), found.name().as_str()), (1024, "small"));
    assert_eq!(server.bucket("state.1.gw1", "one").await.unwrap().max_value(), 64 << 10);
}

#[tokio::test]
async fn a_bucket_that_is_not_there_or_not_ones_own_is_refused_when_it_is_opened() {
    let server = Server::start().await.unwrap();
    for (user, name, why) in [
        ("state.2.gw1", "theirs", "stream not found"),
        ("state.1.gw1", "theirs", "Permissions Violation"),
        ("state.2.gw1", "small", "Permissions Violation"),
    ] {
        let error = server.refused(user, name).await;
        assert_eq!(error.kind(), StoreErrorKind::Other, "{error}");
        assert!(error.to_string().contains(why), "{user}, {name}: {error}");
    }
    let gateway = server.connect("state.1.gw1").await.unwrap();
    let error = gateway.create(&bucket("one"), BucketSettings::default()).await.unwrap_err();
    assert!(error.to_string().contains("Permissions Violation"), "{error}");
    assert!(!error.may_retry());
}

#[tokio::test]
async fn a_bucket_that_would_not_keep_the_contract_is_refused_by_its_setting() {
    let server = Server::start().await.unwrap();
    let mut administrator = server.raw("state.2.administrator").await;
    let good = json!({
        "name": "KV_theirs", "subjects": ["$KV.theirs.>"], "max_msgs_per_subject": 1, "discard": "new",
        "allow_msg_ttl": true, "subject_delete_marker_ttl": 1_000_000_000_u64,
        "duplicate_window": 120_000_000_000_u64, "num_replicas": 1, "storage": "memory",
        "republish": { "src": "$KV.theirs.>", "dest": "mesh.state.theirs.>" },
    });
    let name: BucketName = bucket("theirs");
    let state = server.connect("state.2.gw1").await.unwrap();
    let make = |config: serde_json::Value| config.to_string().into_bytes();
    let mut wrong = good.clone();
    wrong["discard"] = json!("old");
    let (subject, inbox) =
        ("$JS.API.STREAM.CREATE.KV_theirs", "_INBOX.controller.administrator.ack.1");
    administrator.request(subject, inbox, &[], &make(wrong)).await.unwrap();
    let error = state.bucket(&name).await.unwrap_err();
    let why = "the bucket was made otherwise: discard is \"old\", not \"new\"";
    assert_eq!(error.to_string(), format!("store: failed ({why})"));

    let server = Server::start().await.unwrap();
    let mut administrator = server.raw("state.2.administrator").await;
    administrator.request(subject, inbox, &[], &make(good)).await.unwrap();
    server.bucket("state.2.gw1", "theirs").await.unwrap();
}
