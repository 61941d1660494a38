//! Who one says to be, and to whom.

use super::super::{ServerFacts, dial};
use super::fake::{Fake, Script, listening};
use crate::NatsOptions;

#[tokio::test]
async fn url_credentials_are_used_and_decoded() {
    let fake = Fake::start(Script::default()).await;
    let target = fake.target("host-a:p%40ss", &fake.pin);
    let dialled = dial(&target, &NatsOptions::default(), listening().0).await.unwrap();

    let connect = fake.connect();
    assert_eq!((&connect["user"], &connect["pass"]), (&"host-a".into(), &"p@ss".into()));
    assert_eq!(connect["name"], "module mail on n1");
    assert_eq!(connect["tls_required"], true);
    assert!(!String::from_utf8_lossy(&fake.wire()).contains("p@ss"));
    assert_eq!(
        dialled.server,
        ServerFacts {
            version: (2, 12, 6),
            max_payload: 1234,
            server_id: "ID".into(),
            server_name: "fake".into(),
            cluster: Some("c".into()),
        }
    );
    assert!(dialled.client.new_inbox().starts_with("_INBOX.mail.n1.ack."));
}
