//! Subjects at the end of a stranger's wildcard right. One with a space that is none to the server, and is
//! one to the client library: what follows it is read as the number of a subscription, so the message comes
//! to another of the same connection. And one that is no text.

use std::time::Duration;

use mesh_core::port::{ReceiveError, RefusalReason};
use mesh_testkit::fixtures::{filter, message, module};
use mesh_testkit::servers::nats::{NatsServer, RawNats};

use crate::bed::{self, States};

const OPEN: &str = "mesh.tools.mail.open";
/// More subscriptions than the victim has made, its probes among them.
const MANY: u32 = 60;

/// A server, and a responder who may answer whoever has asked it, and nothing else.
async fn scene() -> (NatsServer, RawNats) {
    let crm = format!(
        "{{ user: crm, password: \"{}\", permissions: {{ \
         publish: {{ allow: [ \"_INBOX.*.*.crm.>\" ] }}, subscribe: {{ deny: \">\" }} }} }}",
        bed::PASSWORD
    );
    let server = NatsServer::launch(bed::config(&crm)).await.unwrap();
    let rules = bed::rules(Duration::from_secs(60));
    bed::assert(server.address(), &bed::events(&[(bed::mail(), rules)]), 1).await;
    let mut raw = RawNats::connect(&server).await.unwrap();
    raw.login("crm", bed::PASSWORD).await.unwrap();
    (server, raw)
}

/// Sends one to each subscription of `mail` on `n1`.
async fn smuggle(raw: &mut RawNats) {
    for number in 1..=MANY {
        let subject = format!("_INBOX.mail.n1.crm.x\u{a0}{number}");
        raw.publish(&subject, None, &[("x", "y")], b"smuggled").await.unwrap();
    }
    assert!(raw.settle().await.unwrap().errors.is_empty());
}

#[tokio::test]
async fn what_is_smuggled_into_another_subscription_is_refused_there() {
    let (server, mut raw) = scene().await;
    let mail = bed::dial(server.address(), module("n1", "mail")).await;
    let states = States::of(&mail);
    let mut live = mail.transport().subscribe(filter(OPEN), <_>::default()).await.unwrap();
    let serving = mail.requests().unwrap().serve(filter("mesh.tools.mail.find"), <_>::default());
    let mut calls = serving.await.unwrap();
    let mut events = bed::consume(&mail, bed::mail(), <_>::default()).await;
    smuggle(&mut raw).await;

    let expected = [RefusalReason::Malformed, RefusalReason::Malformed, RefusalReason::ForeignAck];
    let found = [
        live.next().await.unwrap().map(drop),
        calls.next().await.unwrap().map(drop),
        events.next().await.unwrap().map(drop),
    ];
    for (found, expected) in found.into_iter().zip(expected) {
        match found {
            Err(ReceiveError::Refused { subject, reason }) => {
                assert_eq!((subject.as_str(), reason), ("_INBOX.mail.n1.crm.x", expected));
            }
            other => panic!("{other:?}"),
        }
    }
    // What is meant for them comes all the same.
    mail.transport().publish(message(OPEN, "meant"), <_>::default()).await.unwrap();
    assert_eq!(live.next().await.unwrap().unwrap().payload().as_ref(), b"meant");
    assert_eq!(states.count(), 1, "{:?}", states.told());
}

#[tokio::test]
async fn a_subject_that_is_no_text_costs_one_connection() {
    let (server, mut raw) = scene().await;
    let mail = bed::dial(server.address(), module("n1", "mail")).await;
    let mut live = mail.transport().subscribe(filter(OPEN), <_>::default()).await.unwrap();
    let states = States::of(&mail);
    raw.send(b"PUB _INBOX.mail.n1.crm.\xff\xfe 0\r\n\r\n").await.unwrap();
    states.mended().await;
    assert!(matches!(live.next().await, Some(Err(ReceiveError::Interrupted))));
    mail.transport().publish(message(OPEN, "after"), <_>::default()).await.unwrap();
    assert_eq!(live.next().await.unwrap().unwrap().payload().as_ref(), b"after");
    let told = format!("{:?}", states.told());
    assert_eq!(told.matches("the connection was lost").count(), 1, "{told}");
}
