use mesh_testkit::servers::nats::{Cluster, NatsConfig, NatsServer, RawNats};
use serde_json::{Value, json};

async fn api(server: &NatsServer, verb: &str, body: Value) -> Value {
    let mut client = RawNats::connect(server).await.unwrap();
    client.login("a", "b").await.unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = client
        .request(&format!("$JS.API.STREAM.{verb}.ORDERS"), "_INBOX.api", body.as_bytes())
        .await
        .unwrap();
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn three_keep_a_stream_when_its_leader_is_killed() {
    let cluster = Cluster::of_three(NatsConfig::new()).await.unwrap();
    assert_eq!(cluster.urls().len(), 3);
    let config = json!({ "name": "ORDERS", "subjects": ["orders.>"], "num_replicas": 3 });
    let made = api(&cluster.members()[0], "CREATE", config).await;
    assert_eq!(made["error"], Value::Null, "{made}");
    let leader = cluster.leader_of("ORDERS").await.unwrap();
    let mut client = RawNats::connect(leader).await.unwrap();
    client.login("a", "b").await.unwrap();
    let stored = client.request("orders.new", "_INBOX.ack", b"1").await.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&stored.body).unwrap()["seq"], 1);

    leader.kill().unwrap();
    let next = cluster.leader_of("ORDERS").await.unwrap();
    assert_ne!(next.name(), leader.name());
    let info = api(next, "INFO", Value::Null).await;
    assert_eq!(info["state"]["messages"], 1, "{info}");

    leader.start().await.unwrap();
    cluster.complete().await.unwrap();
}
