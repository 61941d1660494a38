use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use mesh_core::port::{AppendOptions, Capabilities, Limits, PublishOptions};
use mesh_session::Session as _;
use mesh_testkit::servers::rabbit::Account;
use serde_json::json;

use super::*;
use crate::AmqpOptions;
use crate::append::append;
use crate::testing::{Bed, PASSWORD, come, message, soon};

async fn session(bed: &Bed, user: &str, options: &AmqpOptions) -> Arc<Session> {
    Session::open(1, &bed.target(user), options).await.unwrap()
}

/// What is published by its queue's name.
fn to_queue(session: &Session, name: &str, mandatory: bool) -> Outgoing {
    let properties = BasicProperties::default().with_user_id(session.user.clone());
    let (exchange, payload) = (AmqpExchange::Default, Bytes::from_static(b"{}"));
    Outgoing { exchange, key: name.into(), mandatory, properties, payload }
}

async fn event(session: &Session, subject: &str) -> Result<Confirmed, TransportError> {
    let message = message(subject, "{}");
    let outgoing = Outgoing::of(&message, session, Operation::Append)?;
    session.publish(Operation::Append, &outgoing, soon()).await
}

#[tokio::test]
async fn a_refusal_hits_its_own_message_and_no_other() {
    let bed = Bed::new().await;
    bed.exchange("mesh.events").await;
    let account = Account::new("n1.news", PASSWORD).rights("", "^mesh\\.events$", "").topic(
        "mesh.events",
        "^news\\.",
        "",
    );
    bed.account(account).await;
    let session = session(&bed, "n1.news", &AmqpOptions::default()).await;
    event(&session, "mesh.events.news.out").await.unwrap();
    let all = (0..300).map(|number| {
        let denied = number % 3 == 0;
        let module = if denied { "mail" } else { "news" };
        let session = &session;
        async move {
            let said = event(session, &format!("mesh.events.{module}.e{}", number % 50)).await;
            (denied, said)
        }
    });
    for (denied, said) in come(join_all(all)).await {
        match said {
            Ok(Confirmed::Taken) => assert!(!denied),
            Err(error) => {
                assert!(denied, "{error}");
                assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
                assert!(error.to_string().contains("mail."), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn what_waits_on_a_channel_that_is_closed_is_sent_again() {
    let bed = Bed::new().await;
    bed.exchange("mesh.events").await;
    bed.exchange("mesh.alive").await;
    bed.queue("q", json!({})).await;
    bed.bind("mesh.events", "q", "#").await;
    let session = session(&bed, "n1.mail", &AmqpOptions::default()).await;
    // Both go over the channel that all share.
    event(&session, "mesh.events.mail.sent").await.unwrap();
    event(&session, "mesh.control.n1.alive").await.unwrap();
    bed.delete("exchanges", "mesh.alive").await;
    let all = (0..100).map(|number| {
        let gone = number == 20;
        let subject = if gone { "mesh.control.n1.alive" } else { "mesh.events.mail.sent" };
        let session = &session;
        async move { (gone, event(session, subject).await) }
    });
    for (gone, said) in come(join_all(all)).await {
        match said {
            Ok(said) => assert!(!gone && said == Confirmed::Taken),
            Err(error) => assert!(gone && error.kind() == ErrorKind::NotFound, "{error}"),
        }
    }
    event(&session, "mesh.events.mail.sent").await.unwrap();
}

#[tokio::test]
async fn what_no_queue_takes_is_told_to_its_own_caller() {
    let bed = Bed::new().await;
    bed.queue("there", json!({})).await;
    let session = session(&bed, "n1.mail", &AmqpOptions::default()).await;
    let all = (0..200).map(|number| {
        let (name, wanted) = if number % 2 == 0 {
            ("there", Confirmed::Taken)
        } else {
            ("absent", Confirmed::Unroutable)
        };
        let outgoing = to_queue(&session, name, true);
        let session = &session;
        async move { (wanted, session.publish(Operation::Publish, &outgoing, soon()).await) }
    });
    for (wanted, said) in come(join_all(all)).await {
        assert_eq!(said.unwrap(), wanted);
    }
}

#[tokio::test]
async fn a_full_queue_refuses_the_append_and_no_live_message() {
    let bed = Bed::new().await;
    bed.exchange("mesh.events").await;
    bed.queue("q", json!({ "x-max-length": 1, "x-overflow": "reject-publish" })).await;
    bed.bind("mesh.events", "q", "#").await;
    let mail = bed.connect("n1.mail").await;
    let event = || message("mesh.events.mail.sent", "{}");
    let streams = mail.streams().unwrap();
    streams.append(event(), AppendOptions::default()).await.unwrap();
    let refused = streams.append(event(), AppendOptions::default()).await.unwrap_err();
    assert_eq!((refused.kind(), refused.may_retry()), (ErrorKind::Full, true), "{refused}");
    mail.transport().publish(event(), PublishOptions::default()).await.unwrap();
}

/// A link whose session is not its first, as after a restart of the broker.
async fn after_a_restart(bed: &Bed) -> Arc<Link> {
    let (target, options) = (bed.target("n1.mail"), AmqpOptions::default());
    let session = Session::open(2, &target, &options).await.unwrap();
    let capabilities = Capabilities::new(Limits::default(), []);
    Link::new(target.principal().clone(), options, capabilities, session)
}

#[tokio::test]
async fn a_refusal_after_a_restart_is_tried_again_while_there_is_time() {
    let bed = Bed::new().await;
    bed.exchange("mesh.events").await;
    bed.queue("q", json!({ "x-max-length": 1, "x-overflow": "reject-publish" })).await;
    bed.bind("mesh.events", "q", "#").await;
    let link = after_a_restart(&bed).await;
    let sent = message("mesh.events.mail.sent", "{}");
    let within = |timeout| AppendOptions { timeout, ..AppendOptions::default() };
    let long = within(Duration::from_secs(30));
    append(&link, &sent, &long).await.unwrap();
    let short = append(&link, &sent, &within(Duration::from_millis(300))).await.unwrap_err();
    assert_eq!(
        short.kind(),
        ErrorKind::Full,
        "its time over, it hears what the broker said: {short}"
    );
    let before = link.counters.resent.load(Ordering::Relaxed);
    let appending = async { append(&link, &sent, &long).await.unwrap() };
    let making_room = async {
        while link.counters.resent.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
        bed.delete("queues", "q").await;
    };
    come(async { tokio::join!(appending, making_room) }).await;
}

#[tokio::test]
async fn calls_that_are_given_up_give_their_places_back() {
    let bed = Bed::new().await;
    bed.queue("q", json!({})).await;
    let options = AmqpOptions { publish_window: 2.try_into().unwrap(), ..AmqpOptions::default() };
    let session = session(&bed, "n1.mail", &options).await;
    for round in 0..20 {
        let outgoing = to_queue(&session, "q", round % 2 == 0);
        let given_up = session.publish(Operation::Publish, &outgoing, soon());
        assert!(given_up.now_or_never().is_none());
    }
    let outgoing = to_queue(&session, "q", false);
    for _ in 0..10 {
        come(session.publish(Operation::Publish, &outgoing, soon())).await.unwrap();
    }
    let idle = Arc::clone(&session.publisher.window);
    drop(come(idle.acquire_many(2)).await.unwrap());
}

#[tokio::test]
async fn a_session_that_ends_ends_what_is_under_way() {
    let bed = Bed::new().await;
    bed.queue("q", json!({})).await;
    let session = session(&bed, "n1.mail", &AmqpOptions::default()).await;
    let outgoing = to_queue(&session, "q", false);
    session.publish(Operation::Publish, &outgoing, soon()).await.unwrap();
    let under_way = session.publish(Operation::Publish, &outgoing, soon());
    let mut under_way = Box::pin(under_way);
    assert!((&mut under_way).now_or_never().is_none());
    session.abandon("the test says so");
    let told = come(under_way).await;
    // The confirmation may have been faster.
    if let Err(error) = told {
        assert_eq!(error.kind(), ErrorKind::Disconnected, "{error}");
    }
    let late = session.publish(Operation::Publish, &outgoing, soon()).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Disconnected, "{late}");
    assert!(tokio::time::timeout(Duration::ZERO, session.over()).await.is_ok());
}
