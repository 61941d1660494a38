//! A consumer that stopped is noticed (A6): deleted, deleted and made again, away with its server or its
//! stream.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mesh_core::port::{Connection, Deliveries, Delivery, ErrorKind, ReceiveError};
use mesh_core::topology::ConsumerRules;
use mesh_testkit::fixtures::{controller, module};
use mesh_testkit::servers::nats::NatsServer;
use parking_lot::Mutex;

use crate::bed;

/// A consumer for which nobody has answered for three seconds is gone; a busy machine takes its time.
const NOTICED: Duration = Duration::from_secs(20);

struct Scene {
    server: NatsServer,
    controller: Connection,
    reader: Connection,
    rules: ConsumerRules,
    events: Deliveries,
}

impl Scene {
    async fn set() -> Self {
        let rules = bed::rules(Duration::from_secs(5));
        let server = bed::server_with_mail(rules).await;
        let controller = bed::dial(server.address(), controller()).await;
        let reader = bed::dial(server.address(), module("n1", "mail")).await;
        let events = bed::consume(&reader, bed::mail(), bed::reading(rules, 10)).await;
        let mut scene = Self { server, controller, reader, rules, events };
        scene.emit("first").await;
        scene.reads("first").await;
        scene
    }

    async fn emit(&self, id: &str) {
        let options = bed::appending(id, Duration::from_secs(20));
        self.controller.streams().unwrap().append(bed::event(id), options).await.unwrap();
    }

    /// Takes this event. A server that was killed may give earlier ones again.
    async fn take(&mut self, id: &str) -> Delivery {
        loop {
            let next = tokio::time::timeout(Duration::from_secs(20), self.events.next());
            let delivery = next.await.expect("an event").unwrap().unwrap();
            if bed::id_of(delivery.message()) == id {
                return delivery;
            }
            delivery.ack().await.unwrap();
        }
    }

    async fn reads(&mut self, id: &str) {
        self.take(id).await.ack().await.unwrap();
    }

    async fn delete_consumer(&self) {
        let administration = self.controller.administration().unwrap();
        assert!(administration.retire(&bed::mail()).await.unwrap());
    }

    async fn ends(&mut self, what: &str) {
        let began = Instant::now();
        let last = tokio::time::timeout(NOTICED, self.events.next()).await.expect("an end");
        let Some(Err(ReceiveError::Ended(error))) = last else { panic!("{last:?}") };
        println!("{what}: noticed after {:.1?}: {error}", began.elapsed());
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(self.events.next().await.is_none(), "it ends once");
    }
}

#[tokio::test]
async fn a_reader_whose_consumer_is_deleted_ends_with_not_found() {
    let mut scene = Scene::set().await;
    scene.delete_consumer().await;
    scene.ends("the consumer deleted").await;
    assert_eq!(bed::figure(&scene.reader, "readings"), 0);
}

#[tokio::test]
async fn a_reader_whose_stream_is_deleted_ends_with_not_found() {
    let mut scene = Scene::set().await;
    let context = bed::jetstream(scene.server.address()).await;
    context.delete_stream("EVENTS").await.unwrap();
    scene.ends("the stream deleted").await;
}

#[tokio::test]
async fn a_delivery_in_hand_when_its_consumer_is_deleted_is_settled_to_nobody() {
    let mut scene = Scene::set().await;
    scene.emit("in-hand").await;
    let delivery = scene.events.next().await.unwrap().unwrap();
    scene.delete_consumer().await;
    scene.ends("the consumer deleted").await;
    // Nobody is there to be told, and nothing hangs or fails by that.
    let _ = tokio::time::timeout(Duration::from_secs(10), delivery.ack()).await.unwrap();
}

#[tokio::test]
async fn a_verdict_on_what_a_deleted_stream_gave_settles_nothing_of_the_one_made_anew() {
    let mut scene = Scene::set().await;
    let mut old = Vec::new();
    for number in 0..5 {
        scene.emit(&format!("old-{number}")).await;
        old.push(scene.events.next().await.unwrap().unwrap());
    }
    // Before the reader has noticed, the same numbers are other events'.
    let context = bed::jetstream(scene.server.address()).await;
    context.delete_stream("EVENTS").await.unwrap();
    let topology = bed::events(&[(bed::mail(), scene.rules)]);
    bed::assert(scene.server.address(), &topology, 1).await;
    let mut new = Vec::new();
    for number in 0..8 {
        scene.emit(&format!("new-{number}")).await;
        new.push(scene.events.next().await.unwrap().unwrap());
    }
    for delivery in old {
        let late = delivery.ack().await.unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Closed, "{late}");
    }
    scene.reader.transport().flush(Duration::from_secs(20)).await.unwrap();
    assert_eq!(bed::owed(scene.server.address(), &bed::mail()).await, 8);
    for delivery in new {
        delivery.ack().await.unwrap();
    }
    scene.reader.transport().flush(Duration::from_secs(20)).await.unwrap();
    assert_eq!(bed::owed(scene.server.address(), &bed::mail()).await, 0);
}

#[tokio::test]
async fn a_consumer_that_is_made_again_at_once_is_read_on_or_its_end_is_told() {
    let mut scene = Scene::set().await;
    for number in 0..5 {
        scene.delete_consumer().await;
        let rules = scene.rules;
        bed::assert(scene.server.address(), &bed::events(&[(bed::mail(), rules)]), 1).await;
        let id = format!("after-{number}");
        scene.emit(&id).await;
        let due = Instant::now() + Duration::from_secs(30);
        loop {
            assert!(Instant::now() < due, "the next event was not read");
            match tokio::time::timeout(NOTICED, scene.events.next()).await.expect("a word") {
                Some(Ok(delivery)) => {
                    // The new consumer begins at the oldest.
                    let found = bed::id_of(delivery.message()) == id;
                    delivery.ack().await.unwrap();
                    if found {
                        break;
                    }
                }
                Some(Err(ReceiveError::Ended(error))) => {
                    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
                    let options = bed::reading(rules, 10);
                    scene.events = bed::consume(&scene.reader, bed::mail(), options).await;
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_reader_goes_on_after_its_server_was_restarted() {
    let mut scene = Scene::set().await;
    for (number, kill) in [false, true, false, true].into_iter().enumerate() {
        let before = format!("before-{number}");
        scene.emit(&before).await;
        let held = scene.take(&before).await;
        if kill {
            scene.server.kill().unwrap();
            scene.server.start().await.unwrap();
        } else {
            scene.server.restart().await.unwrap();
        }
        // What was given before is settled after.
        held.ack().await.unwrap();
        scene.reader.transport().flush(Duration::from_secs(20)).await.unwrap();
        let after = format!("after-{number}");
        scene.emit(&after).await;
        scene.reads(&after).await;
    }
    scene.reader.transport().flush(Duration::from_secs(20)).await.unwrap();
    assert_eq!(bed::owed(scene.server.address(), &bed::mail()).await, 0, "nothing comes again");
}

#[tokio::test]
async fn a_consumer_that_is_deleted_while_its_server_is_away_is_noticed_when_it_is_back() {
    let mut scene = Scene::set().await;
    let away = scene.server.address();
    // The reader alone loses its way to the server.
    let proxy = mesh_testkit::servers::Proxy::before(away).await.unwrap();
    let through = bed::dial(proxy.address(), module("n1", "mail")).await;
    scene.events = bed::consume(&through, bed::mail(), bed::reading(scene.rules, 10)).await;
    let states = bed::States::of(&through);
    proxy.refuse(true).await.unwrap();
    proxy.cut().await;
    states.any("the loss", |state| !state.is_connected()).await;
    scene.delete_consumer().await;
    proxy.refuse(false).await.unwrap();
    scene.ends("the consumer deleted meanwhile").await;
    // The connection itself is well.
    states.mended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orderly_stop_of_the_server_ends_no_reader_and_fails_no_append() {
    // The shorter a claim, the more often a reader looks after its consumer.
    let rules = bed::rules(Duration::from_millis(300));
    let server = bed::server_with_mail(rules).await;
    let reader = bed::dial(server.address(), module("n1", "mail")).await;
    let mut events = bed::consume(&reader, bed::mail(), bed::reading(rules, 100)).await;
    let publisher = bed::dial(server.address(), module("n1", "crm")).await;
    let (stop, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(HashSet::new())));
    let publishing = (0..16).map(|task| {
        let (publisher, stop) = (publisher.clone(), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut appended = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let id = format!("event-{task}-{}", appended.len());
                let options = bed::appending(&id, Duration::from_secs(30));
                publisher.streams().unwrap().append(bed::event(&id), options).await.unwrap();
                appended.push(id);
            }
            appended
        })
    });
    let publishing: Vec<_> = publishing.collect();
    let reading = {
        let seen = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Some(next) = events.next().await {
                let delivery = next.unwrap();
                seen.lock().insert(bed::id_of(delivery.message()));
                let _ = delivery.ack().await;
            }
        })
    };
    for _ in 0..10 {
        server.restart().await.unwrap();
        // On a busy machine the loss is noticed by what is sent first.
        bed::until_async("a flush", async || {
            reader.transport().flush(Duration::from_secs(20)).await.ok()
        })
        .await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut appended = Vec::new();
    for task in publishing {
        appended.extend(task.await.unwrap());
    }
    println!("{} events were appended while the server was restarted 10 times", appended.len());
    bed::until("all of them", || {
        assert!(!reading.is_finished(), "the reader ended");
        let seen = seen.lock();
        appended.iter().all(|id| seen.contains(id)).then_some(())
    })
    .await;
}
