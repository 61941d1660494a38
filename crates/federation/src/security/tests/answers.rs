//! What a realm answers is proven like what it asks.

use std::sync::Arc;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::mx::{Decoded, MailboxKind, decode};
use mesh_core::name::InstanceName;
use mesh_core::port::{PublishOptions, SubscribeOptions};
use mesh_testkit::clock::ManualClock;
use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};

use super::*;
use crate::edge::EdgeConfig;
use crate::{Call, RealmClient, RealmOptions, ResolvedClient};

fn principal(name: &str) -> Principal {
    Principal::Gateway { name: InstanceName::new(name).unwrap() }
}

#[tokio::test]
async fn a_client_that_proves_what_it_sends_proves_what_it_answers() {
    let clock = Arc::new(ManualClock::new());
    let backbone = InMemoryExactBroker::new(clock.clone());
    let local = InMemoryFilterBroker::new(clock);
    let made = generate(Algorithm::EdDsa).unwrap();
    let signer = Signer::eddsa_pem(realm("shop"), made.kid(), made.pem()).unwrap();
    let outside =
        ResolvedClient::new(backbone.connect(principal("shop"))).with_signer(Arc::new(signer));
    let (config, options) = (EdgeConfig::new(realm("shop")), RealmOptions::default());
    let shop = RealmClient::start(config, outside, local.connect(principal("shop")), options)
        .await
        .unwrap();
    let path = MxPath::new("stock.accepts.count").unwrap();
    let counting = |_: Call| async { Ok(RawJson::NULL) };
    let _counting = shop.accept(path.clone(), counting).await.unwrap();

    let acme = backbone.connect(principal("acme"));
    let mailbox = MailboxKind::default();
    let how = SubscribeOptions::default();
    let answers = acme.transport().subscribe(mailbox.subject(&realm("acme.com")).into(), how);
    let mut answers = answers.await.unwrap();
    // One that is answered, and one that nobody serves.
    for (id, path) in [("m-1", path), ("m-2", MxPath::new("a.accepts.b").unwrap())] {
        let from = Party::new(
            MxRealm::new("acme.com").unwrap(),
            Some(MxPath::new("till.accepts.done").unwrap()),
        );
        let to = Address::new(MxRealm::new("shop").unwrap(), path);
        let mut question = Envelope::new(MsgType::Cmd, from, to);
        question.msg_id = Some(id.into());
        let message = Message::new(mailbox.subject(&realm("shop")), question.encode().unwrap());
        acme.transport().publish(message, PublishOptions::default()).await.unwrap();
        let answer = answers.next().await.unwrap().unwrap();
        let Ok(Decoded::MxEnv(answer)) = decode(answer.payload(), 1 << 20) else {
            panic!("not MXENV/1")
        };
        let keys = Keys::from_jwks(&format!(r#"{{"keys":[{}]}}"#, made.jwk())).unwrap();
        let guard = MxSec::new(realm("acme.com"), StaticKeys::new().with(realm("shop"), keys));
        assert!(answer.kind.is_answer());
        assert_eq!(guard.prove(&answer, NOW).await, Ok(()), "{id}");
    }
}
