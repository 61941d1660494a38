//! The grounds themselves: what a gateway's account may do on a backbone.

use std::collections::BTreeSet;
use std::sync::Arc;

use mesh_core::message::Message;
use mesh_core::port::{Connection, ErrorKind, PublishOptions, QueueGroup, SubscribeOptions};
use mesh_core::subject::Filter;
use mesh_testkit::clock::ManualClock;

use crate::ground::{BOTH, Field, Ground, RealmPlan};

async fn raise(ground: Ground) -> Field {
    let plans = vec![RealmPlan::new("acme.com"), RealmPlan::new("matrix-3"), RealmPlan::new("été")];
    ground.raise(plans, Arc::new(ManualClock::new())).await
}

/// A gateway hears its own mailboxes, of both kinds, and publishes to its peers'; where the broker has rights,
/// another's mailbox is closed to it and so is the way to its own.
pub(super) async fn each_mailbox_is_its_own_gateways_alone(ground: Ground) {
    let field = raise(ground).await;
    let [home, peer, third] = [0, 1, 2].map(|number| field.realm(number));
    for kind in BOTH {
        let mailbox = kind.subject(&home.name);
        let inside = home.between.transport();
        let mut heard =
            inside.subscribe(mailbox.clone().into(), SubscribeOptions::default()).await.unwrap();
        for sender in [peer, third] {
            let text = format!("from {}", sender.name);
            let message = Message::new(mailbox.clone(), text.clone().into_bytes());
            sender.between.transport().publish(message, PublishOptions::default()).await.unwrap();
            assert_eq!(heard.next().await.unwrap().unwrap().payload(), text.as_bytes());
        }
        if ground != Ground::Memory {
            let options = SubscribeOptions::default();
            let denied = third.between.transport().subscribe(mailbox.clone().into(), options).await;
            assert_eq!(denied.unwrap_err().kind(), ErrorKind::Denied);
            let message = Message::new(mailbox, b"to myself".to_vec());
            let denied = inside.publish(message, PublishOptions::default()).await;
            assert_eq!(denied.unwrap_err().kind(), ErrorKind::Denied);
        }
    }
    field.listens_to(&BTreeSet::new()).await;
}

/// No gateway can listen with a wildcard, and the broker holds the mailboxes as they are written.
pub(super) async fn a_wildcard_is_refused(ground: Ground) {
    let field = raise(ground).await;
    for wildcard in ["mx/in/1/acme.*", "public.ingress.*", "public.>", "*.*", ">"] {
        let filter = Filter::new(wildcard).unwrap();
        for realm in &field.realms {
            let transport = realm.between.transport();
            let refused = transport.subscribe(filter.clone(), SubscribeOptions::default()).await;
            let kind = refused.unwrap_err().kind();
            let expected =
                if ground == Ground::Memory { ErrorKind::Unsupported } else { ErrorKind::Denied };
            assert_eq!(kind, expected, "{wildcard}");
        }
    }
    let mut listening = Vec::new();
    for realm in &field.realms {
        for topic in realm.mailboxes() {
            let transport = realm.between.transport();
            let options = SubscribeOptions::default();
            listening.push(transport.subscribe(topic.into(), options).await.unwrap());
        }
    }
    field.listens_to(&field.mailboxes()).await;
    drop(listening);
    field.listens_to(&BTreeSet::new()).await;
}

/// Gateways of one realm share its mailboxes: each message comes to one of them, and where a right is for the
/// group alone, nobody listens beside it.
pub(super) async fn gateways_of_a_realm_share_its_mailboxes(ground: Ground) {
    let plans = vec![RealmPlan::new("acme.com").guarded(), RealmPlan::new("matrix-3")];
    let field = ground.raise(plans, Arc::new(ManualClock::new())).await;
    let [home, peer] = [0, 1].map(|number| field.realm(number));
    let group = QueueGroup::new("mx-edge").unwrap();
    let options = SubscribeOptions { group: Some(group), ..SubscribeOptions::default() };
    for mailbox in home.mailboxes() {
        let listen = async |connection: &Connection, options: &SubscribeOptions| {
            let transport = connection.transport();
            transport.subscribe(mailbox.clone().into(), options.clone()).await
        };
        let alone = listen(&home.between, &SubscribeOptions::default()).await;
        assert_eq!(alone.unwrap_err().kind(), ErrorKind::Denied);
        let mut one = listen(&home.between, &options).await.unwrap();
        let mut other = listen(&home.sibling, &options).await.unwrap();
        for number in 0..20_u8 {
            let message = Message::new(mailbox.clone(), vec![number]);
            peer.between.transport().publish(message, PublishOptions::default()).await.unwrap();
        }
        let mut heard = BTreeSet::new();
        while heard.len() < 20 {
            let message = tokio::select! {
                message = one.next() => message,
                message = other.next() => message,
            };
            let message = message.unwrap().unwrap();
            assert!(heard.insert(message.payload().to_vec()), "came twice: {message:?}");
        }
    }
}
