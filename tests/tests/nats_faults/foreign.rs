//! Messages where deliveries arrive, that are none of the consumer's. Nobody may publish there; a consumer
//! that somebody made, and a word of a stream's that somebody aimed, may reach it all the same.

use std::time::Duration;

use futures_util::FutureExt;
use mesh_core::port::{Deliveries, ReceiveError, RefusalReason};
use mesh_testkit::fixtures::module;
use mesh_testkit::servers::nats::{NatsServer, RawMessage, RawNats};

use crate::bed;

const TIME: Duration = Duration::from_secs(20);
/// More than are told to a reader that does not come.
const MANY: u32 = 300;

async fn raw(server: &NatsServer) -> RawNats {
    let mut raw = RawNats::connect(server).await.unwrap();
    raw.login(bed::USER, bed::PASSWORD).await.unwrap();
    raw
}

/// Sends so many where the deliveries of `mail` arrive, with an address that it would like to be answered.
async fn inject(evil: &mut RawNats, count: u32) {
    for number in 0..count {
        let reply = format!("evil.{number}");
        evil.publish("mesh.deliver.EVENTS.n1_mail", Some(&reply), &[], b"{}").await.unwrap();
    }
    evil.settle().await.unwrap();
}

/// Waits for a word of the reader's about a delivery of its own, and answers it.
async fn word(spy: &mut RawNats) -> RawMessage {
    loop {
        let said = spy.next().await.unwrap();
        assert!(!said.subject.starts_with("evil."), "{said:?}");
        // It asks for its consumer at an address of no delivery.
        if !said.subject.contains(&i64::MAX.to_string()) {
            return said;
        }
    }
}

/// How many words wait about what is no delivery.
fn refused(events: &mut Deliveries) -> usize {
    let mut refused = 0;
    while let Some(next) = events.next().now_or_never() {
        match next {
            Some(Err(ReceiveError::Refused { reason: RefusalReason::ForeignAck, .. })) => {
                refused += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    refused
}

#[tokio::test]
async fn nothing_is_said_to_where_a_foreign_message_points_and_few_of_them_are_kept() {
    // Long enough for a busy machine, and short enough to be kept soon.
    let rules = bed::rules(Duration::from_secs(8));
    let server = bed::server_with_mail(rules).await;
    let reader = bed::dial(server.address(), module("n1", "mail")).await;
    let mut events = bed::consume(&reader, bed::mail(), bed::reading(rules, 1)).await;
    let (mut evil, mut spy) = (raw(&server).await, raw(&server).await);
    for place in ["evil.>", "$JS.ACK.EVENTS.n1_mail.>"] {
        spy.subscribe(place, None).await.unwrap();
    }
    spy.settle().await.unwrap();
    let streams = reader.streams().unwrap();
    streams.append(bed::event("in-hand"), bed::appending("in-hand", TIME)).await.unwrap();
    let in_hand = events.next().await.unwrap().unwrap();

    // While the reader has its hands full, they wait with what comes behind them.
    inject(&mut evil, MANY).await;
    streams.append(bed::event("behind"), bed::appending("behind", TIME)).await.unwrap();
    let said = word(&mut spy).await;
    assert_eq!(said.body, b"+WPI", "the one behind them keeps its claim: {said:?}");
    assert_eq!(refused(&mut events), 256);
    in_hand.ack().await.unwrap();
    let behind = events.next().await.unwrap().unwrap();
    assert_eq!((bed::id_of(behind.message()).as_str(), behind.info().attempt), ("behind", 1));

    // Whoever leaves gives back what is its own.
    inject(&mut evil, 10).await;
    reader.transport().flush(TIME).await.unwrap();
    drop((events, behind));
    reader.transport().flush(TIME).await.unwrap();
    while word(&mut spy).await.body != b"-NAK" {}
    let after = spy.settle().await.unwrap().messages;
    assert!(after.iter().all(|said| !said.subject.starts_with("evil.")), "{after:?}");
}
