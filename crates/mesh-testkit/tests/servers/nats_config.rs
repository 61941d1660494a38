use mesh_testkit::servers::nats::{HandshakeFirst, NatsConfig, NatsServer, Place};
use mesh_testkit::servers::{Certificate, ServerError};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

async fn greeting(server: &NatsServer) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let mut buffer = [0; 4096];
    let count = stream.read(&mut buffer).await.unwrap();
    String::from_utf8_lossy(&buffer[..count]).into_owned()
}

#[tokio::test]
async fn a_plain_server_serves_and_tells_of_itself() {
    let server = NatsServer::launch(NatsConfig::new().max_payload(4096)).await.unwrap();
    assert_eq!(server.connz().await.unwrap()["num_connections"], 0);
    assert!(greeting(&server).await.contains("\"max_payload\":4096"));
    assert_eq!(server.url(), format!("nats://{}", server.address()));
    assert_eq!(
        server.url_of("host-a", "p@ss/1"),
        format!("nats://host%2Da:p%40ss%2F1@{}", server.address())
    );
    assert_eq!(server.fingerprint(), None);
    assert_eq!(server.varz().await.unwrap()["port"], server.address().port());
    assert!(server.subsz().await.unwrap()["num_subscriptions"].is_u64());
    assert!(server.jsz().await.unwrap()["disabled"].as_bool().unwrap());
    assert!(server.monitor("/nothing").await.is_err());
    assert!(server.monitoring().starts_with("http://127.0.0.1:"));
    assert!(server.log().contains("Server is ready"));
}

#[tokio::test]
async fn with_tls_it_demands_it_and_shows_the_certificate() {
    let certificate = Certificate::local().unwrap();
    let config = NatsConfig::new().tls(certificate.clone()).jetstream();
    let server = NatsServer::launch(config).await.unwrap();
    assert!(greeting(&server).await.contains("\"tls_required\":true"));
    assert!(server.url().starts_with("tls://127.0.0.1:"));
    assert_eq!(server.fingerprint(), Some(certificate.fingerprint()));
    assert_eq!(server.certificate(), Some(certificate));
    assert_eq!(server.jsz().await.unwrap()["streams"], 0);
}

#[tokio::test]
async fn the_handshake_can_come_first_or_within_a_time() {
    for (when, told) in [
        (HandshakeFirst::Yes, "true"),
        (HandshakeFirst::Within(Duration::from_millis(300)), "\"300ms\""),
    ] {
        let config = NatsConfig::new().tls(Certificate::local().unwrap()).handshake_first(when);
        let server = NatsServer::launch(config).await.unwrap();
        let file = std::fs::read_to_string(server.config_file()).unwrap();
        assert!(file.contains(&format!("handshake_first: {told}")), "{file}");
        if when == HandshakeFirst::Yes {
            // It waits for the handshake and says nothing: a word that is none ends it.
            let mut stream = TcpStream::connect(server.address()).await.unwrap();
            tokio::io::AsyncWriteExt::write_all(&mut stream, b"PING\r\n").await.unwrap();
            let mut all = Vec::new();
            let _ = stream.read_to_end(&mut all).await;
            assert!(!all.starts_with(b"INFO"), "{all:?}");
        } else {
            assert!(greeting(&server).await.starts_with("INFO "));
        }
    }
}

#[tokio::test]
async fn a_composed_file_is_the_whole_file() {
    let compose = |place: &Place| {
        format!(
            "server_name: composed\nlisten: \"{}\"\nhttp: \"{}\"\n",
            place.client, place.monitoring
        )
    };
    let server = NatsServer::launch(NatsConfig::composed(compose)).await.unwrap();
    assert_eq!(server.varz().await.unwrap()["server_name"], "composed");
}

#[tokio::test]
async fn a_file_that_fails_the_check_is_refused_with_the_reason() {
    let refused = NatsServer::launch(NatsConfig::new().with("max_payload: [")).await.unwrap_err();
    assert!(matches!(refused, ServerError::Refused(_)), "{refused}");
    assert!(refused.to_string().contains("Parse error"), "{refused}");
}

#[tokio::test]
async fn a_server_that_does_not_come_up_is_reported_with_its_log() {
    let taken = NatsServer::launch(NatsConfig::new()).await.unwrap();
    let port = taken.address();
    let compose =
        move |place: &Place| format!("listen: \"{port}\"\nhttp: \"{}\"\n", place.monitoring);
    let failed = NatsServer::launch(NatsConfig::composed(compose)).await.unwrap_err();
    assert!(matches!(failed, ServerError::Failed { .. }), "{failed}");
    assert!(format!("{failed:?}").contains("address already in use"), "{failed:?}");

    let compose =
        |place: &Place| format!("listen: \"localhost:-1\"\nhttp: \"{}\"\n", place.monitoring);
    let failed = NatsServer::launch(NatsConfig::composed(compose)).await.unwrap_err();
    assert!(failed.to_string().contains("listens at localhost"), "{failed}");
}

#[tokio::test]
async fn a_reload_is_live_when_it_returns() {
    let users = |names: &[&str]| {
        let users: Vec<_> = names
            .iter()
            .map(|name| format!("{{ user: \"{name}\", password: \"secret-{name}\" }}"))
            .collect();
        format!("authorization {{ users: [ {} ] }}", users.join(", "))
    };
    let base = NatsConfig::new().with("max_connections: 100");
    let server = NatsServer::launch(base.clone().with(users(&["ann"]))).await.unwrap();
    let pid = server.pid();
    let next = base.clone().with(users(&["ann", "bob"])).max_payload(5000);
    server.reload(next.clone()).await.unwrap();
    assert_eq!(server.varz().await.unwrap()["max_payload"], 5000);
    // The same once more is a reload, too.
    server.reload(next).await.unwrap();
    assert_eq!(server.pid(), pid);
    assert!(!format!("{:?}", base.with(users(&["ann"]))).contains("secret-ann"));
}

#[tokio::test]
async fn a_refused_reload_leaves_file_and_server_as_they_were() {
    let server = NatsServer::launch(NatsConfig::new().max_payload(5000)).await.unwrap();
    let file = std::fs::read(server.config_file()).unwrap();
    let digest = server.varz().await.unwrap()["config_digest"].clone();
    // The check says no.
    let broken = server.reload(NatsConfig::new().with("listen [")).await.unwrap_err();
    assert!(matches!(broken, ServerError::Refused(_)), "{broken}");
    // The check says yes, the reload no.
    let named = NatsConfig::new().with("server_name: other");
    let refused = server.reload(named).await.unwrap_err();
    assert!(refused.to_string().contains("not supported for ServerName"), "{refused}");
    assert_eq!(std::fs::read(server.config_file()).unwrap(), file);
    assert_eq!(server.varz().await.unwrap()["config_digest"], digest);
}

#[tokio::test]
async fn a_certificate_can_be_changed_by_a_reload() {
    let (old, new) = (Certificate::local().unwrap(), Certificate::local().unwrap());
    let server = NatsServer::launch(NatsConfig::new().tls(old)).await.unwrap();
    server.reload(NatsConfig::new().tls(new.clone())).await.unwrap();
    assert_eq!(server.fingerprint(), Some(new.fingerprint()));
    let wrong = new.with_wrong_key().unwrap();
    let refused = server.reload(NatsConfig::new().tls(wrong)).await.unwrap_err();
    assert!(refused.to_string().contains("private key does not match"), "{refused}");
    assert_eq!(server.fingerprint(), Some(new.fingerprint()));
}
