use std::time::Duration;

use mesh_testkit::servers::nats::{Cluster, NatsConfig, NatsServer, RawNats};
use serde_json::{Value, json};

/// Asks until an answer comes: while leaders change, a request is lost.
async fn ask(server: &NatsServer, subject: &str, body: &str) -> Value {
    let client = RawNats::connect(server).await.unwrap();
    let mut client = client.with_patience(Duration::from_secs(2));
    client.login("a", "b").await.unwrap();
    // What is stored is stored once, however often it is sent.
    let id = [("Nats-Msg-Id", "1")];
    for _ in 0..15 {
        if let Ok(answer) = client.request(subject, "_INBOX.a", &id, body.as_bytes()).await {
            return serde_json::from_slice(&answer.body).unwrap();
        }
    }
    panic!("no answer to {subject}; the log of {}:\n{}", server.name(), server.log());
}

#[tokio::test]
async fn three_keep_a_stream_when_its_leader_is_killed() {
    // As a task: what others write may need it to be one.
    let launched = tokio::spawn(Cluster::of_three(NatsConfig::new())).await.unwrap();
    let cluster = launched.unwrap();
    assert_eq!(cluster.urls().len(), 3);
    let config = json!({ "name": "ORDERS", "subjects": ["orders.>"], "num_replicas": 3 });
    let create = "$JS.API.STREAM.CREATE.ORDERS";
    let made = ask(&cluster.members()[0], create, &config.to_string()).await;
    assert_eq!(made["error"], Value::Null, "{made}");
    let leader = cluster.leader_of("ORDERS").await.unwrap();
    assert_eq!(ask(leader, "orders.new", "1").await["seq"], 1);

    leader.kill().unwrap();
    let next = cluster.leader_of("ORDERS").await.unwrap();
    assert_ne!(next.name(), leader.name());
    let info = ask(next, "$JS.API.STREAM.INFO.ORDERS", "").await;
    assert_eq!(info["state"]["messages"], 1, "{info}");

    leader.start().await.unwrap();
    cluster.complete().await.unwrap();
}
