use mesh_testkit::servers::nats::{HandshakeFirst, NatsConfig, NatsServer, RawNats};
use mesh_testkit::servers::{Certificate, Direction, Proxy, ServerError, Validity};
use serde_json::json;

const USERS: &str = r#"
authorization { users: [
    { user: ann, password: "p@ss", permissions: { publish: ["mail.>", "box.>"], subscribe: ["box.>", "mail.>"] } }
    { user: bob, password: "b", permissions: { publish: { deny: ">" }, subscribe: { deny: ">" } } }
] }"#;

async fn ann(server: &NatsServer) -> RawNats {
    let mut client = RawNats::connect(server).await.unwrap();
    client.login("ann", "p@ss").await.unwrap();
    client
}

#[tokio::test]
async fn messages_go_to_a_subscription_with_reply_and_headers() {
    let server = NatsServer::launch(NatsConfig::new().with(USERS)).await.unwrap();
    let (mut one, mut other) = (ann(&server).await, ann(&server).await);
    assert_eq!(one.info()["port"], server.address().port());
    let number = one.subscribe("mail.*", Some("serve")).await.unwrap();
    assert!(one.settle().await.unwrap().errors.is_empty());
    let headers = [("K", "v: w"), ("k", "x")];
    other.publish("mail.new", Some("box.1"), &headers, b"a\r\nb").await.unwrap();
    let message = one.next().await.unwrap();
    assert_eq!((message.subject.as_str(), message.subscription), ("mail.new", number));
    assert_eq!(
        (message.reply.as_deref(), message.body.as_slice()),
        (Some("box.1"), &b"a\r\nb"[..])
    );
    assert_eq!((message.header("K"), message.header("k")), (Some("v: w"), Some("x")));
    // Its own message is among what came before the PONG.
    one.publish("mail.own", None, &[], b"").await.unwrap();
    assert_eq!(one.settle().await.unwrap().messages[0].subject, "mail.own");
}

#[tokio::test]
async fn a_request_is_answered_or_told_that_nobody_listens() {
    let server = NatsServer::launch(NatsConfig::new().with(USERS)).await.unwrap();
    let (mut asks, mut serves) = (ann(&server).await, ann(&server).await);
    assert_eq!(asks.request("mail.ask", "box.1", &[], b"?").await.unwrap().status, Some(503));
    serves.subscribe("mail.ask", None).await.unwrap();
    serves.settle().await.unwrap();
    let (answer, ()) = tokio::join!(asks.request("mail.ask", "box.2", &[], b"?"), async {
        let reply = serves.next().await.unwrap().reply.unwrap();
        serves.publish(&reply, None, &[], b"!").await.unwrap();
    });
    assert_eq!(answer.unwrap().body, b"!");
}

#[tokio::test]
async fn what_the_server_denies_is_told_and_the_connection_stays() {
    let server = NatsServer::launch(NatsConfig::new().with(USERS)).await.unwrap();
    let mut client = RawNats::connect(&server).await.unwrap();
    client.login("bob", "b").await.unwrap();
    client.publish("mail.x", None, &[], b"").await.unwrap();
    client.subscribe("mail.>", None).await.unwrap();
    let settled = client.settle().await.unwrap();
    assert_eq!(settled.errors.len(), 2, "{settled:?}");
    assert!(settled.errors[0].contains("Permissions Violation for Publish to \"mail.x\""));
    client.publish("mail.x", None, &[], b"").await.unwrap();
    assert!(client.next().await.unwrap_err().to_string().contains("Permissions Violation"));
}

#[tokio::test]
async fn who_is_not_let_in_hears_why_and_what_is_no_protocol_ends_it() {
    let server = NatsServer::launch(NatsConfig::new().with(USERS)).await.unwrap();
    let mut client = RawNats::connect(&server).await.unwrap();
    let refused = client.login("ann", "wrong").await.unwrap_err();
    assert!(matches!(&refused, ServerError::Answer(why) if why == "Authorization Violation"));
    let mut client = ann(&server).await;
    client.send("NONSENSE\r\n").await.unwrap();
    assert_eq!(client.closed().await.unwrap(), ["Unknown Protocol Operation"]);
    let mut client = RawNats::connect(&server).await.unwrap();
    client.login_with(&json!({ "user": "ann", "pass": "p@ss", "name": "me" })).await.unwrap();
    assert_eq!(server.connz().await.unwrap()["connections"][0]["name"], "me");
}

#[tokio::test]
async fn tls_is_taken_by_the_pin_alone_in_each_order_of_the_handshake() {
    // Expired, and for somebody else: the pin replaces both checks.
    let certificate = Certificate::new(&["other.example"], Validity::Expired).unwrap();
    for when in [HandshakeFirst::No, HandshakeFirst::Yes] {
        let config = NatsConfig::new().with(USERS).tls(certificate.clone()).handshake_first(when);
        let server = NatsServer::launch(config).await.unwrap();
        assert!(ann(&server).await.settle().await.unwrap().errors.is_empty());
        let pin = Certificate::local().unwrap().fingerprint();
        let first = server.handshake_first();
        let refused = RawNats::secured(server.address(), &pin, first).await.unwrap_err();
        assert!(refused.to_string().contains("the certificate is"), "{refused}");
    }
}

#[tokio::test]
async fn a_proxy_before_a_server_breaks_its_connections() {
    let server = NatsServer::launch(NatsConfig::new()).await.unwrap();
    let proxy = Proxy::before(server.address()).await.unwrap();
    let mut client = RawNats::plain(proxy.address()).await.unwrap();
    client.login("a", "b").await.unwrap();
    proxy.stall(Direction::ToClient);
    client.publish("a", None, &[], b"through").await.unwrap();
    proxy.resume();
    client.settle().await.unwrap();
    proxy.cut().await;
    assert!(client.settle().await.is_err());
    assert_eq!(server.varz().await.unwrap()["in_msgs"], 1);
}
