//! More waits for a reader than a task may take in one turn (tokio lets 128 through): all of it is held.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use mesh_core::port::{Connection, Deliveries};
use mesh_core::topology::{AckAddress, ConsumerRules};
use mesh_testkit::fixtures::{module, subject};
use mesh_testkit::servers::Proxy;
use mesh_testkit::servers::nats::{NatsServer, RawNats};
use mesh_transport_nats::{NatsOptions, connect};

use crate::bed::{self, States};

const EVENTS: u64 = 900;
const TIME: Duration = Duration::from_secs(30);

struct Scene {
    server: NatsServer,
    proxy: Proxy,
    connection: Connection,
    events: Deliveries,
}

impl Scene {
    /// A reader who takes one event in hand, and all others wait for it.
    async fn set(rules: ConsumerRules) -> Self {
        let server = bed::server_with_mail(rules).await;
        let proxy = Proxy::before(server.address()).await.unwrap();
        let target = bed::target(proxy.address(), module("n1", "mail"), bed::USER);
        let options = NatsOptions { ping_interval: TIME, ..bed::quick() };
        let connection = connect(target, options).await.unwrap();
        let events = bed::consume(&connection, bed::mail(), bed::reading(rules, 1)).await;
        Self { server, proxy, connection, events }
    }

    async fn emit_all(&self) {
        let publisher = bed::dial(self.server.address(), module("n1", "crm")).await;
        let streams = publisher.streams().unwrap();
        futures_util::stream::iter(0..EVENTS)
            .for_each_concurrent(100, |number| async move {
                let id = format!("event-{number}");
                streams.append(bed::event(&id), bed::appending(&id, TIME)).await.unwrap();
            })
            .await;
        bed::until_async("all are pushed to the reader", async || {
            (bed::claimed(self.server.address(), &bed::mail()).await == EVENTS).then_some(())
        })
        .await;
        // What the server pushed has arrived: a flush comes after it.
        self.connection.transport().flush(TIME).await.unwrap();
    }

    /// Reads them all, each at its first attempt.
    async fn read_all(mut self) {
        for number in 0..EVENTS {
            let next = tokio::time::timeout(TIME, self.events.next()).await;
            let delivery = next.unwrap_or_else(|_| panic!("no event after {number}"));
            let delivery = delivery.unwrap().unwrap();
            assert_eq!(delivery.info().attempt, 1, "event {number}");
            delivery.ack().await.unwrap();
        }
        self.connection.transport().flush(TIME).await.unwrap();
        assert_eq!(bed::owed(self.server.address(), &bed::mail()).await, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_waits_keeps_its_claim() {
    let rules = ConsumerRules { max_deliver: Some(2), ..bed::rules(Duration::from_secs(4)) };
    let scene = Scene::set(rules).await;
    let mut spy = RawNats::connect(&scene.server).await.unwrap();
    spy.login(bed::USER, bed::PASSWORD).await.unwrap();
    spy.subscribe("$JS.ACK.EVENTS.n1_mail.>", None).await.unwrap();
    spy.settle().await.unwrap();
    scene.emit_all().await;
    // Each is told to be in work until none could have been kept without.
    let mut told = BTreeMap::<u64, u32>::new();
    while told.len() < EVENTS as usize || told.values().any(|times| *times < 5) {
        let said = spy.next().await.unwrap();
        let address = AckAddress::parse(&subject(&said.subject)).unwrap();
        assert_eq!(address.delivered, 1, "it was given again: {}", said.subject);
        if said.body == b"+WPI" && address.stream_sequence <= EVENTS {
            *told.entry(address.stream_sequence).or_default() += 1;
        }
    }
    scene.read_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_waits_when_the_connection_is_lost_is_handed_on() {
    // What comes again by itself comes after the test.
    let scene = Scene::set(bed::rules(Duration::from_secs(300))).await;
    scene.emit_all().await;
    let states = States::of(&scene.connection);
    scene.proxy.cut().await;
    states.mended().await;
    scene.read_all().await;
}
