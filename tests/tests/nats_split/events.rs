//! Events of the SDK: consumed, tried again, known again, given up and sent back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mesh_core::dead_letter::{DeadLetter, DeadReason};
use mesh_core::event::{Event, EventId};
use mesh_core::json::JsonText;
use mesh_core::message::{HeaderName, HeaderValue, Headers, Message, PublishId};
use mesh_core::port::{AppendOptions, ErrorKind, Position};
use mesh_core::time::Timestamp;
use mesh_core::topology::StreamName;
use mesh_sdk::{Broker, HandlerError, PublishError, ReceivedEvent};
use mesh_testkit::fixtures::{event, module_name, node, subject};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::split::{Bed, Isolation, Setup};
use crate::{module, soon};

/// A consumer of `svc.made` whose handler answers what `answer` says; and what it was given.
async fn consuming(
    bed: &Bed,
    user: &str,
    answer: impl Fn(&ReceivedEvent) -> Result<(), HandlerError> + Send + Sync + 'static,
) -> (Broker, UnboundedReceiver<ReceivedEvent>) {
    let broker = module(bed, user, &["svc.made"]).await;
    let (sender, given) = unbounded_channel();
    let handler = move |event: ReceivedEvent| {
        let result = answer(&event);
        sender.send(event).unwrap();
        async move { result }
    };
    broker.subscribe("svc.made", handler).await.unwrap();
    (broker, given)
}

async fn next(given: &mut UnboundedReceiver<ReceivedEvent>) -> ReceivedEvent {
    soon(given.recv()).await.expect("the handler is gone")
}

fn soon_again(_: &ReceivedEvent) -> HandlerError {
    HandlerError::retry_after("not yet", Duration::from_millis(20))
}

#[tokio::test]
async fn each_consumer_is_given_an_event_once() {
    let bed = Bed::split().await.unwrap();
    let (_n1, mut first) = consuming(&bed, "evil.n1", |_| Ok(())).await;
    let (_n2, mut second) = consuming(&bed, "evil.n2", |_| Ok(())).await;
    let svc = module(&bed, "svc.n1", &[]).await;
    let mut ids = Vec::new();
    for number in 0..20 {
        ids.push(soon(svc.publish("made", &number)).await.unwrap().id);
    }
    ids.sort();
    for given in [&mut first, &mut second] {
        let mut found = Vec::new();
        for _ in 0..20 {
            let event = next(given).await;
            assert_eq!((event.module.as_str(), event.attempt), ("svc", 1));
            found.push(event.event.id().clone());
        }
        found.sort();
        assert_eq!(found, ids);
    }
}

#[tokio::test]
async fn an_event_waits_for_a_consumer_that_is_away() {
    let bed = Bed::split().await.unwrap();
    let svc = module(&bed, "svc.n1", &[]).await;
    let id = svc.publish("made", "early").await.unwrap().id;
    let closed = svc.close(Duration::from_secs(10)).await;
    assert_eq!(closed.lost, 0);
    let (_n1, mut given) = consuming(&bed, "evil.n1", |_| Ok(())).await;
    assert_eq!(*next(&mut given).await.event.id(), id);
}

#[tokio::test]
async fn a_failed_event_is_tried_again_with_either_form_of_acknowledgement() {
    for second_form in [false, true] {
        let bed = Bed::start(Setup { second_form, ..Setup::split() }).await.unwrap();
        let (_n1, mut given) = consuming(&bed, "evil.n1", |event| {
            if event.attempt < 3 { Err(soon_again(event)) } else { Ok(()) }
        })
        .await;
        let svc = module(&bed, "svc.n1", &[]).await;
        let id = svc.publish("made", &1).await.unwrap().id;
        for attempt in 1..=3 {
            let event = next(&mut given).await;
            assert_eq!((event.event.id(), event.attempt), (&id, attempt));
        }
        // Settled for good: the next that comes is another.
        let id = svc.publish("made", &2).await.unwrap().id;
        assert_eq!(*next(&mut given).await.event.id(), id);
    }
}

#[tokio::test]
async fn an_event_that_is_stored_twice_is_handled_once() {
    let bed = Bed::split().await.unwrap();
    let handled = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&handled);
    let (_n1, mut given) = consuming(&bed, "evil.n1", move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(())
    })
    .await;
    let svc = bed.connect("svc.n1").await.unwrap();
    // As a program would that forgot that it had published it, and has another id for the broker.
    for broker_id in ["first", "second"] {
        let options = AppendOptions {
            id: Some(PublishId::new(broker_id).unwrap()),
            ..AppendOptions::default()
        };
        let appended = svc.streams().unwrap().append(made("same"), options).await.unwrap();
        assert!(!appended.duplicate);
    }
    // The broker's own eye for the very id.
    let options =
        AppendOptions { id: Some(PublishId::new("first").unwrap()), ..AppendOptions::default() };
    let again = svc.streams().unwrap().append(made("same"), options).await.unwrap();
    assert_eq!((again.duplicate, again.sequence), (true, Some(1)));
    svc.streams().unwrap().append(made("other"), AppendOptions::default()).await.unwrap();
    let mut ids =
        [next(&mut given).await, next(&mut given).await].map(|e| e.event.id().to_string());
    ids.sort();
    assert_eq!(ids, ["other", "same"]);
    assert_eq!(handled.load(Ordering::SeqCst), 2);
}

/// An event as `svc` publishes it, of this id.
fn made(id: &str) -> Message {
    let id = EventId::new(id).unwrap();
    let data = JsonText::new("{}").unwrap();
    let made = Event::new(id, module_name("svc"), node("n1"), Timestamp::from_millis(1), data);
    let mut headers = Headers::default();
    for (name, value) in made.headers() {
        headers.append(HeaderName::new(name).unwrap(), HeaderValue::new(value).unwrap());
    }
    Message::new(event("svc", "made"), "{}").with_headers(headers)
}

#[tokio::test]
async fn an_event_that_is_given_up_is_a_dead_letter_and_can_be_sent_back() {
    for isolation in [Isolation::Split, Isolation::OneAccount] {
        let bed = Bed::start(Setup::scoped(isolation)).await.unwrap();
        let _keeper = bed.keep_dead_letters().await.unwrap();
        let (_n1, mut given) = consuming(&bed, "evil.n1", |event| {
            if event.replayed { Ok(()) } else { Err(HandlerError::reject("no such account")) }
        })
        .await;
        let (_n2, mut neighbour) = consuming(&bed, "evil.n2", |_| Ok(())).await;
        let svc = module(&bed, "svc.n1", &[]).await;
        let id = svc.publish("made", "body").await.unwrap().id;
        assert_eq!(*next(&mut given).await.event.id(), id);
        assert_eq!(*next(&mut neighbour).await.event.id(), id);
        let administration = bed.controller.administration().unwrap();
        let dead = || administration.read(StreamName::EventsDead, Position::Sequence(1));
        let stored = soon(async {
            loop {
                if let Some(stored) = dead().await.unwrap() {
                    return stored;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        let letter = DeadLetter::parse(&stored.message).unwrap();
        assert_eq!(letter.subject, Some(subject("mesh.events.svc.made")));
        assert_eq!(letter.consumer.to_string(), "EVENTS/n1_evil");
        assert_eq!((letter.sequence, letter.deliveries), (Some(1), Some(1)));
        assert_eq!(letter.reason, DeadReason::Terminated);
        assert_eq!(letter.error.unwrap().as_str(), "no such account");
        assert_eq!(stored.message.payload(), "\"body\"");

        let replay = DeadLetter::replay(&stored.message).unwrap();
        let streams = bed.controller.streams().unwrap();
        streams.append(replay, AppendOptions::default()).await.unwrap();
        let event = next(&mut given).await;
        assert_eq!((event.event.id(), event.replayed), (&id, true));
        // To nobody else: what the neighbour hears next came later.
        let id = svc.publish("made", "later").await.unwrap().id;
        assert_eq!(*next(&mut neighbour).await.event.id(), id);
    }
}

#[tokio::test]
async fn what_the_manifest_does_not_emit_or_consume_is_refused() {
    let bed = Bed::split().await.unwrap();
    let svc = module(&bed, "svc.n1", &["evil.>"]).await;
    match soon(svc.publish("undeclared", &())).await.unwrap_err() {
        PublishError::Transport(error) => assert_eq!(error.kind(), ErrorKind::Denied),
        other => panic!("{other}"),
    }
    // `mute` has no consumer, whatever its program says.
    let mute = module(&bed, "mute.n1", &["svc.made"]).await;
    let refused = soon(mute.subscribe("svc.made", |_| async { Ok(()) })).await.unwrap_err();
    let mesh_sdk::SubscribeError::Transport(error) = refused else { panic!("{refused}") };
    assert_eq!(error.kind(), ErrorKind::Denied);
}
