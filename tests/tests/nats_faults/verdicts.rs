//! What a durable reader settled, or holds, when its connection is lost.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use mesh_core::port::{Connection, Deliveries, Delivery, ErrorKind, Reason};
use mesh_core::topology::ConsumerRules;
use mesh_testkit::fixtures::module;
use mesh_testkit::servers::nats::NatsServer;
use mesh_testkit::servers::{Direction, Proxy};
use mesh_transport_nats::{NatsOptions, connect};

use crate::bed::{self, States};

/// What comes again by itself comes after the test.
const CLAIM: Duration = Duration::from_secs(120);
const TIME: Duration = Duration::from_secs(30);

struct Scene {
    server: NatsServer,
    proxy: Proxy,
    connection: Connection,
    states: States,
    events: Deliveries,
}

impl Scene {
    /// A reader that may hold so many, and as many events.
    async fn set(events: usize, in_flight: usize) -> Self {
        let rules = ConsumerRules { max_deliver: Some(5), ..bed::rules(CLAIM) };
        let server = bed::server_with_mail(rules).await;
        let proxy = Proxy::before(server.address()).await.unwrap();
        let target = bed::target(proxy.address(), module("n1", "mail"), bed::USER);
        // The test breaks the connection, and nothing else does.
        let options = NatsOptions { ping_interval: CLAIM, ..bed::quick() };
        let connection = connect(target, options).await.unwrap();
        let states = States::of(&connection);
        let reading = bed::reading(rules, in_flight);
        let deliveries = bed::consume(&connection, bed::mail(), reading).await;
        for number in 0..events {
            let id = format!("event-{number}");
            let options = bed::appending(&id, TIME);
            connection.streams().unwrap().append(bed::event(&id), options).await.unwrap();
        }
        Self { server, proxy, connection, states, events: deliveries }
    }

    async fn next(&mut self) -> Delivery {
        let next = tokio::time::timeout(TIME, self.events.next()).await;
        next.expect("a delivery").unwrap().unwrap()
    }

    async fn take(&mut self, count: usize) -> Vec<Delivery> {
        let mut held = Vec::new();
        for _ in 0..count {
            held.push(self.next().await);
        }
        held
    }

    async fn owed(&self) -> u64 {
        bed::owed(self.server.address(), &bed::mail()).await
    }

    /// Breaks the connection with all that is on its way to the server.
    async fn lose_what_is_sent(&self) {
        let before = self.states.count();
        self.proxy.cut().await;
        self.proxy.resume();
        self.states.mended_since(before).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledgements_that_are_lost_with_the_connection_are_said_again() {
    let mut scene = Scene::set(200, 200).await;
    // All are here before anything is lost.
    let mut held = scene.take(200).await;
    for round in 0..4 {
        scene.proxy.stall(Direction::ToServer);
        for delivery in held.drain(..50) {
            delivery.ack().await.unwrap();
        }
        assert_eq!(scene.owed().await, 200 - round * 50, "the server has not heard of it");
        scene.lose_what_is_sent().await;
        scene.connection.transport().flush(TIME).await.unwrap();
        assert_eq!(scene.owed().await, 150 - round * 50, "proven by the flush");
    }
    assert!(scene.events.next().now_or_never().is_none(), "nothing comes again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_verdict_that_is_lost_with_the_connection_is_said_again() {
    let mut scene = Scene::set(4, 10).await;
    let mut held = scene.take(4).await;
    scene.proxy.stall(Direction::ToServer);
    drop(held.pop());
    held.pop().unwrap().nak(None).await.unwrap();
    held.pop().unwrap().terminate(Reason::new("no")).await.unwrap();
    held.pop().unwrap().ack().await.unwrap();
    scene.lose_what_is_sent().await;
    let began = Instant::now();
    let again: HashSet<_> = [scene.next().await, scene.next().await]
        .map(|delivery| {
            assert_eq!(delivery.info().attempt, 2);
            let id = bed::id_of(delivery.message());
            delivery.ack().now_or_never().unwrap().unwrap();
            id
        })
        .into();
    println!("what was given back came again after {:.1?}", began.elapsed());
    assert_eq!(again, ["event-2", "event-3"].map(str::to_owned).into());
    scene.connection.transport().flush(TIME).await.unwrap();
    assert_eq!(scene.owed().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_without_a_connection_is_said_when_there_is_one() {
    let mut scene = Scene::set(3, 10).await;
    let mut held = scene.take(3).await;
    scene.proxy.refuse(true).await.unwrap();
    scene.proxy.cut().await;
    scene.states.any("the loss", |state| !state.is_connected()).await;
    // One is waited for to the end, one is given up, one is dropped.
    let given_up = held.pop().unwrap().ack();
    tokio::time::timeout(Duration::from_millis(50), given_up).await.unwrap_err();
    let waited_for = held.pop().unwrap().ack().await.unwrap_err();
    assert_eq!(waited_for.kind(), ErrorKind::Disconnected, "{waited_for}");
    drop(held.pop());
    scene.proxy.refuse(false).await.unwrap();
    scene.states.mended().await;
    let again = scene.next().await;
    assert_eq!(bed::id_of(again.message()), "event-0", "it was given back");
    again.ack().await.unwrap();
    scene.connection.transport().flush(TIME).await.unwrap();
    assert_eq!(scene.owed().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_here_when_the_connection_is_lost_is_handed_on_at_its_first_attempt() {
    let mut scene = Scene::set(100, 1).await;
    let first = scene.next().await;
    bed::until_async("all are pushed to the reader", async || {
        (bed::claimed(scene.server.address(), &bed::mail()).await == 100).then_some(())
    })
    .await;
    // What the server pushed has arrived: a flush comes after it.
    scene.connection.transport().flush(TIME).await.unwrap();
    let before = scene.states.count();
    scene.proxy.cut().await;
    scene.states.mended_since(before).await;
    first.ack().await.unwrap();
    let began = Instant::now();
    for number in 1..100 {
        let delivery = scene.next().await;
        assert_eq!(bed::id_of(delivery.message()), format!("event-{number}"));
        assert_eq!(delivery.info().attempt, 1);
        delivery.ack().await.unwrap();
    }
    println!("99 that waited here were handed on after the loss, in {:.1?}", began.elapsed());
    scene.connection.transport().flush(TIME).await.unwrap();
    assert_eq!(scene.owed().await, 0);
}
