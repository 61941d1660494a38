mod closed;
mod ends;
mod many;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use lapin::options::BasicGetOptions;
use mesh_core::port::{AppendOptions, Capabilities, Limits, PublishOptions};
use mesh_core::subject::Subject;
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

/// Publishes to a queue by its name.
async fn to_queue(
    session: &Session,
    route: &Route,
    mandatory: bool,
) -> Result<Confirmed, TransportError> {
    let properties = BasicProperties::default().with_user_id(session.user.clone());
    let payload = Bytes::from_static(b"{}");
    let outgoing = Outgoing { mandatory: None, properties, payload };
    let make = || outgoing.clone().mandatory_if(mandatory);
    session.publish(Operation::Publish, route, make, soon()).await
}

/// Returns when nothing waits for its confirmation.
async fn idle(session: &Session) {
    while !session.fate.is_idle() {
        tokio::task::yield_now().await;
    }
}

async fn event(session: &Session, route: &Route) -> Result<Confirmed, TransportError> {
    let message = message("mesh.events.mail.sent", "{}");
    let make = || Outgoing::on(route, &message, session);
    session.publish(Operation::Append, route, make, soon()).await
}

fn route(routes: &Routes, subject: &str) -> Arc<Route> {
    routes.of(&Subject::new(subject).unwrap(), Operation::Append).unwrap()
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
    let routes = Routes::default();
    event(&session, &route(&routes, "mesh.events.news.out")).await.unwrap();
    let all = (0..300).map(|number| {
        let denied = number % 3 == 0;
        let module = if denied { "mail" } else { "news" };
        let route = route(&routes, &format!("mesh.events.{module}.e{}", number % 50));
        let session = &session;
        async move { (denied, event(session, &route).await) }
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
    let routes = Routes::default();
    let sent = route(&routes, "mesh.events.mail.sent");
    let alive = route(&routes, "mesh.control.n1.alive");
    event(&session, &sent).await.unwrap();
    event(&session, &alive).await.unwrap();
    bed.delete("exchanges", "mesh.alive").await;
    let all = (0..100).map(|number| {
        let gone = number == 20;
        let (session, route) = (&session, if gone { &alive } else { &sent });
        async move { (gone, event(session, route).await) }
    });
    for (gone, said) in come(join_all(all)).await {
        match said {
            Ok(said) => assert!(!gone && said == Confirmed::Taken),
            Err(error) => assert!(gone && error.kind() == ErrorKind::NotFound, "{error}"),
        }
    }
    event(&session, &sent).await.unwrap();
}

#[tokio::test]
async fn what_no_queue_takes_is_told_to_its_own_caller() {
    let bed = Bed::new().await;
    // They confirm in their own time, one after the disk.
    bed.queue("lasting", json!({ "x-queue-type": "quorum" })).await;
    bed.queue("there", json!({})).await;
    bed.queue("full", json!({ "x-max-length": 1, "x-overflow": "reject-publish" })).await;
    let session = session(&bed, "n1.mail", &AmqpOptions::default()).await;
    let queues = [
        ("lasting", Confirmed::Taken),
        ("absent", Confirmed::Unroutable),
        ("there", Confirmed::Taken),
        ("full", Confirmed::Refused),
        ("absent-too", Confirmed::Unroutable),
    ];
    let queues = queues.map(|(name, wanted)| (Route::to_queue(name), wanted));
    for (route, _) in &queues {
        to_queue(&session, route, true).await.unwrap();
    }
    // All together, on one channel.
    assert!(queues.iter().all(|(route, _)| session.publisher.passing.passes(route).is_some()));
    let all = (0..1000).map(|number| {
        let ((route, wanted), session) = (&queues[number % queues.len()], &session);
        async move { (wanted, to_queue(session, route, true).await) }
    });
    for (wanted, said) in come(join_all(all)).await {
        assert_eq!(said.unwrap(), *wanted);
    }
    assert!(session.publisher.returned.is_empty());
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
    let short = append(&link, &sent, &within(Duration::from_secs(2))).await.unwrap_err();
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
    let route = Route::to_queue("q");
    for round in 0..20 {
        assert!(to_queue(&session, &route, round % 2 == 0).now_or_never().is_none());
    }
    for round in 0..10 {
        come(to_queue(&session, &route, round % 2 == 0)).await.unwrap();
    }
    for round in 0..20 {
        assert!(to_queue(&session, &route, round % 2 == 0).now_or_never().is_none());
    }
    come(idle(&session)).await;
}

#[tokio::test]
async fn a_session_that_ends_ends_what_is_under_way() {
    let bed = Bed::new().await;
    bed.queue("q", json!({})).await;
    let session = session(&bed, "n1.mail", &AmqpOptions::default()).await;
    let route = Route::to_queue("q");
    to_queue(&session, &route, false).await.unwrap();
    let mut under_way = Box::pin(to_queue(&session, &route, false));
    assert!((&mut under_way).now_or_never().is_none());
    session.abandon("the test says so");
    let told = come(under_way).await;
    // The confirmation may have been faster.
    if let Err(error) = told {
        assert_eq!(error.kind(), ErrorKind::Disconnected, "{error}");
    }
    let late = to_queue(&session, &route, false).await.unwrap_err();
    assert_eq!(late.kind(), ErrorKind::Disconnected, "{late}");
    assert!(tokio::time::timeout(Duration::ZERO, session.over()).await.is_ok());
}

#[tokio::test]
async fn a_question_is_never_sent_again_and_another_ones_refusal_harms_no_event() {
    let bed = Bed::new().await;
    for exchange in ["mesh.events", "mesh.rpc", "mesh.live"] {
        bed.exchange(exchange).await;
    }
    bed.queue("serve.mail.send", json!({})).await;
    bed.bind("mesh.rpc", "serve.mail.send", "serve.mail.send").await;
    let (routes, session) =
        (Routes::default(), session(&bed, "n1.mail", &AmqpOptions::default()).await);
    let tool = route(&routes, "mesh.tools.mail.send");
    let (gone, sent) = (route(&routes, "acme.orders"), route(&routes, "mesh.events.mail.sent"));
    let ask = async |route: &Route, number: usize| {
        let message = message("mesh.tools.mail.send", &number.to_string());
        let make = || Outgoing::on(route, &message, &session).mandatory_if(number > 0);
        session.publish_question(route, make, soon()).await
    };
    ask(&tool, 0).await.unwrap();
    ask(&gone, 0).await.unwrap();
    event(&session, &sent).await.unwrap();
    bed.delete("exchanges", "mesh.live").await;
    let asking = (1..=100).map(|number| {
        let (ask, route) = (&ask, if number == 50 { &gone } else { &tool });
        async move { (number, ask(route, number).await) }
    });
    let publishing = (0..50).map(|_| event(&session, &sent));
    let (asked, published) =
        come(async { tokio::join!(join_all(asking), join_all(publishing)) }).await;
    for said in published {
        assert_eq!(said.unwrap(), Confirmed::Taken);
    }
    let (mut taken, mut doubtful) = (vec![0], Vec::new());
    for (number, said) in asked {
        match said {
            Ok(said) => {
                assert!(number != 50 && said == Confirmed::Taken);
                taken.push(number);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Disconnected, "{error}");
                doubtful.push(number);
            }
        }
    }
    assert!(doubtful.contains(&50));
    let error = ask(&gone, 1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let channel = session.reading_channel(Operation::Consume, soon()).await.unwrap();
    let mut there = Vec::new();
    let options = || BasicGetOptions { no_ack: true };
    while let Some(got) = channel.basic_get("serve.mail.send".into(), options()).await.unwrap() {
        there.push(String::from_utf8(got.delivery.data).unwrap().parse::<usize>().unwrap());
    }
    assert!(taken.iter().all(|number| there.contains(number)), "{there:?}");
    let different: BTreeSet<_> = there.iter().collect();
    assert_eq!(different.len(), there.len(), "asked twice: {there:?}");
}
