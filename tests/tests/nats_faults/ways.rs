//! The way to the server breaks: stalled in one direction or both, half open, cut.

use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use mesh_core::identity::Responder;
use mesh_core::port::{
    Connection, ConnectionState, ConsumeOptions, Deliveries, ErrorKind, PublishOptions,
    ReceiveError, SubscribeOptions, Subscription, TransportError,
};
use mesh_testkit::fixtures::{filter, message, module, module_name};
use mesh_testkit::servers::nats::NatsServer;
use mesh_testkit::servers::{Direction, Proxy};
use mesh_transport_nats::{NatsOptions, connect};

use crate::bed::{self, States};

/// Nobody serves it.
const FIND: &str = "mesh.tools.crm.find";
/// What a call may take beyond its time, on a machine that is busy with other tests.
const MARGIN: Duration = Duration::from_secs(5);
/// How long the server may be silent before it is asked.
const PING: Duration = Duration::from_millis(500);
/// How long each call has.
const TIME: Duration = Duration::from_millis(300);

/// A connection through a way that can be broken, with a subscription and a reader, and beside it one
/// that reaches the server whatever happens.
struct Scene {
    server: NatsServer,
    proxy: Proxy,
    connection: Connection,
    states: States,
    live: Subscription,
    events: Deliveries,
    other: Connection,
}

impl Scene {
    async fn set() -> Self {
        let rules = bed::rules(Duration::from_secs(3));
        let server = bed::server_with_mail(rules).await;
        let proxy = Proxy::before(server.address()).await.unwrap();
        // Long enough that the state between two can be seen.
        proxy.delay(Duration::from_millis(10));
        let options = NatsOptions {
            connect_timeout: Duration::from_secs(2),
            ping_interval: PING,
            ..bed::quick()
        };
        let target = bed::target(proxy.address(), module("n1", "mail"), bed::USER);
        let connection = connect(target, options).await.unwrap();
        let states = States::of(&connection);
        let live = connection.transport().subscribe(filter("mesh.tools.>"), <_>::default());
        let live = live.await.unwrap();
        let events = bed::consume(&connection, bed::mail(), bed::reading(rules, 10)).await;
        let other = bed::dial(server.address(), module("n1", "crm")).await;
        let mut scene = Self { server, proxy, connection, states, live, events, other };
        scene.hears(0).await;
        scene
    }

    /// Both readers hear what is said from elsewhere; the live one is told that it was interrupted, if
    /// it was.
    async fn hears(&mut self, number: u32) -> bool {
        let id = format!("event-{number}");
        let options = bed::appending(&id, Duration::from_secs(10));
        self.other.streams().unwrap().append(bed::event(&id), options).await.unwrap();
        let mut interrupted = false;
        let due = tokio::time::Instant::now() + Duration::from_secs(30);
        // What is said while it is away is not heard.
        let mut again = tokio::time::interval(Duration::from_millis(200));
        loop {
            let next = tokio::select! {
                next = self.live.next() => next.unwrap(),
                now = again.tick() => {
                    assert!(now < due, "nothing live was heard");
                    let said = message("mesh.tools.mail.open", &id);
                    self.other.transport().publish(said, <_>::default()).await.unwrap();
                    continue;
                }
            };
            match next {
                Ok(heard) if heard.payload().as_ref() == id.as_bytes() => break,
                Ok(_) => {}
                Err(ReceiveError::Interrupted) => interrupted = true,
                Err(other) => panic!("{other}"),
            }
        }
        loop {
            let next = tokio::time::timeout_at(due, self.events.next()).await;
            let delivery = next.expect("an event").unwrap().unwrap();
            let found = bed::id_of(delivery.message()) == id;
            delivery.ack().await.unwrap();
            if found {
                return interrupted;
            }
        }
    }

    /// One call of each kind, each with its time.
    fn calls(&self) -> Vec<(&'static str, BoxFuture<'_, Result<(), TransportError>>)> {
        let (transport, streams) =
            (self.connection.transport(), self.connection.streams().unwrap());
        let requests = self.connection.requests().unwrap();
        let said = || message(FIND, "");
        let publish = PublishOptions { timeout: TIME, ..<_>::default() };
        let insist = PublishOptions { require_receiver: true, timeout: TIME };
        let subscribe = SubscribeOptions { timeout: TIME, ..<_>::default() };
        let consume = ConsumeOptions { timeout: TIME, ..<_>::default() };
        let crm = Responder::Module(module_name("crm"));
        let append = streams.append(bed::event("x"), bed::appending("x", TIME));
        vec![
            ("publish", transport.publish(said(), publish)),
            ("publish to somebody", transport.publish(said(), insist)),
            ("request", requests.request(crm, said(), TIME).map(|done| done.map(drop)).boxed()),
            ("append", append.map(|done| done.map(drop)).boxed()),
            (
                "subscribe",
                transport.subscribe(filter("a.b"), subscribe).map(|done| done.map(drop)).boxed(),
            ),
            ("consume", streams.consume(bed::mail(), consume).map(|done| done.map(drop)).boxed()),
            ("flush", transport.flush(TIME)),
        ]
    }

    /// Each call ends in its time, with one of these kinds.
    async fn calls_fail(&self, when: &str, kinds: &[ErrorKind]) {
        let timed = self.calls().into_iter().map(|(name, call)| async move {
            let began = Instant::now();
            let error = call.await.expect_err(name);
            (name, error, began.elapsed())
        });
        for (name, error, took) in join_all(timed).await {
            println!("{when}: {name} took {took:.1?}: {error}");
            assert!(kinds.contains(&error.kind()), "{name}: {error}");
            assert!(error.may_retry(), "{name}: {error}");
            assert!(took < TIME + MARGIN, "{name}: {took:?}");
        }
    }

    async fn calls_work(&self) {
        let results = join_all(
            self.calls().into_iter().map(|(name, call)| async move { (name, call.await) }),
        );
        for (name, result) in results.await {
            // Nobody serves that tool, but the subscription of this test hears it.
            match result {
                Err(error) if name == "request" && error.kind() == ErrorKind::TimedOut => {}
                result => result.expect(name),
            }
        }
    }
}

async fn a_stall(directions: &[Direction]) {
    let mut scene = Scene::set().await;
    for direction in directions {
        scene.proxy.stall(*direction);
    }
    let began = Instant::now();
    scene.calls_fail("stalled", &[ErrorKind::TimedOut]).await;
    let lost = |state: &ConnectionState| matches!(state, ConnectionState::Disconnected(_));
    scene.states.any("a connection that is found dead", lost).await;
    let found = began.elapsed();
    println!("{directions:?} stalled: found dead after {found:.1?}");
    // Two pings without an answer are noticed at the third.
    assert!(found < PING * 3 + MARGIN, "{found:?}");
    scene.calls_fail("found dead", &[ErrorKind::Disconnected]).await;
    scene.proxy.resume();
    scene.states.mended().await;
    let told = scene.states.told();
    let place = |is: &dyn Fn(&ConnectionState) -> bool| told.iter().rposition(is);
    let connecting = place(&|state| matches!(state, ConnectionState::Connecting));
    assert!(place(&lost) < connecting, "{told:?}");
    assert!(connecting < place(&ConnectionState::is_connected), "{told:?}");
    assert!(scene.hears(1).await, "the live reader was told");
    scene.calls_work().await;
    // Nothing of the stalled connection is left.
    scene.connection.transport().close(Duration::from_secs(5)).await;
    scene.other.transport().close(Duration::from_secs(5)).await;
    bed::connections(&scene.server, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_that_is_stalled_both_ways_is_found_dead_and_made_anew() {
    a_stall(&[Direction::ToServer, Direction::ToClient]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_that_is_stalled_to_the_server_is_found_dead_and_made_anew() {
    a_stall(&[Direction::ToServer]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_that_is_stalled_to_the_client_is_found_dead_and_made_anew() {
    a_stall(&[Direction::ToClient]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_that_is_half_open_is_made_anew() {
    let mut scene = Scene::set().await;
    for (number, direction) in [Direction::ToClient, Direction::ToServer].into_iter().enumerate() {
        let before = scene.states.count();
        scene.proxy.half_close(direction);
        scene.states.mended_since(before).await;
        let number = u32::try_from(number).unwrap() + 1;
        assert!(scene.hears(number).await, "the live reader was told");
    }
    scene.calls_work().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_that_is_cut_fails_what_waits_at_once_and_is_made_anew() {
    let mut scene = Scene::set().await;
    for number in 1..=10 {
        let requests = scene.connection.requests().unwrap();
        let crm = Responder::Module(module_name("crm"));
        let asking = requests.request(crm, message(FIND, ""), bed::LONG);
        let cutting = async {
            // The question was heard, so it is under way.
            while scene.live.next().await.unwrap().unwrap().subject().as_str() != FIND {}
            let began = Instant::now();
            scene.proxy.cut().await;
            began
        };
        let (answer, began) = tokio::join!(asking, cutting);
        let (error, took) = (answer.unwrap_err(), began.elapsed());
        assert_eq!(error.kind(), ErrorKind::Disconnected, "{error}");
        assert!(took < MARGIN, "{took:?}");
        assert!(scene.hears(number).await, "the live reader was told");
    }
    scene.calls_work().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_connection_with_many_subscriptions_is_told_connected_after_every_loss() {
    let scene = Scene::set().await;
    scene.proxy.delay(Duration::ZERO);
    let transport = scene.connection.transport();
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(transport.subscribe(filter("mesh.tools.>"), <_>::default()).await.unwrap());
    }
    for _ in 0..40 {
        let before = scene.states.count();
        scene.proxy.cut().await;
        scene.states.mended_since(before).await;
    }
    transport.flush(bed::LONG).await.unwrap();
    assert!(scene.states.told().last().is_some_and(ConnectionState::is_connected));
}
