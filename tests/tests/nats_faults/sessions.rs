//! What is left of a session that ended, and what begins the next.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mesh_core::port::{ErrorKind, PublishOptions, ReceiveError};
use mesh_testkit::fixtures::{filter, message, module};
use mesh_testkit::servers::Proxy;
use mesh_testkit::servers::nats::{FakeConfig, FakeNats, Heard, NatsServer};
use mesh_transport_nats::{NatsOptions, Source, connect};
use parking_lot::Mutex;

use crate::bed::{self, States, quick, target};

#[tokio::test]
async fn a_closed_connection_leaves_the_server() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let _subscription =
        connection.transport().subscribe(filter("mesh.tools.>"), <_>::default()).await.unwrap();
    bed::connections(&server, 1).await;
    connection.transport().close(Duration::from_secs(5)).await;
    bed::connections(&server, 0).await;
}

#[tokio::test]
async fn what_a_port_shows_is_what_it_counts_and_nothing_of_the_clients_insides() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let shown = format!("{:?}", connection.transport());
    assert!(shown.contains("waiting: 0") && shown.contains("principal"), "{shown}");
    for inside in ["async_nats", "Semaphore", "RwLock"] {
        assert!(!shown.contains(inside), "{shown}");
    }
}

#[tokio::test]
async fn a_dropped_connection_leaves_the_server_after_what_it_sent() {
    let rules = bed::rules(Duration::from_secs(60));
    let server = bed::server_with_mail(rules).await;
    bed::connections(&server, 0).await;
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let mut deliveries = bed::consume(&connection, bed::mail(), bed::reading(rules, 100)).await;
    let streams = connection.streams().unwrap();
    for number in 0..50 {
        let id = format!("event-{number}");
        let options = bed::appending(&id, Duration::from_secs(5));
        streams.append(bed::event(&id), options).await.unwrap();
    }
    for _ in 0..50 {
        deliveries.next().await.unwrap().unwrap().ack().await.unwrap();
    }
    drop((connection, deliveries));
    bed::connections(&server, 0).await;
    let owed = bed::owed(server.address(), &bed::mail()).await;
    assert_eq!(owed, 0, "every acknowledgement reached the server");
}

#[tokio::test]
async fn an_attempt_that_fails_half_way_leaves_no_connection_behind() {
    // It lets clients in, and says nothing to what they ask.
    let fake = FakeNats::start(FakeConfig::new()).await.unwrap();
    let options = NatsOptions { connect_timeout: Duration::from_millis(500), ..quick() };
    let target = target(fake.address(), module("n1", "mail"), bed::USER);
    let refused = connect(target, options).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TimedOut, "{refused}");
    let visit = fake.whole_visit().await.unwrap();
    assert!(visit.iter().any(|heard| matches!(heard, Heard::Connect(_))), "{visit:?}");
}

#[tokio::test]
async fn an_attempt_that_is_given_up_leaves_no_connection_behind() {
    let fake = FakeNats::start(FakeConfig::new()).await.unwrap();
    let target = target(fake.address(), module("n1", "mail"), bed::USER);
    let connecting = tokio::spawn(connect(target, quick()));
    fake.connect_fields().await.unwrap();
    connecting.abort();
    fake.whole_visit().await.unwrap();
}

#[tokio::test]
async fn a_source_that_panics_is_no_end_of_reconnecting() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let (asked, address) = (Arc::new(AtomicU32::new(0)), server.address());
    let source = {
        let asked = Arc::clone(&asked);
        Source::reread(move || {
            // Twice it fails, when the connection was lost.
            let number = asked.fetch_add(1, Ordering::Relaxed);
            assert!(number == 0 || number > 2, "a panic that this test makes");
            Ok(target(address, module("n1", "mail"), bed::USER))
        })
    };
    let connection = connect(source, quick()).await.unwrap();
    let states = States::of(&connection);
    server.restart().await.unwrap();
    states.any("the panic", |state| format!("{state:?}").contains("panicked")).await;
    states.mended().await;
    let sent = connection.transport().publish(message("mesh.tools.mail.open", ""), <_>::default());
    sent.await.unwrap();
    assert!(asked.load(Ordering::Relaxed) > 2);
}

#[tokio::test]
async fn a_connection_that_is_cut_again_and_again_is_made_anew_in_ever_longer_pauses() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let proxy = Proxy::before(server.address()).await.unwrap();
    let options = NatsOptions {
        reconnect_min: Duration::from_millis(20),
        reconnect_max: Duration::from_secs(60),
        ..quick()
    };
    let connection =
        connect(target(proxy.address(), module("n1", "mail"), bed::USER), options).await.unwrap();
    let cutting = Instant::now();
    while cutting.elapsed() < Duration::from_secs(3) {
        proxy.cut().await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let attempts = proxy.traffic().connections;
    println!("{attempts} attempts in 3 s in which each connection was cut at once");
    assert!((2..40).contains(&attempts), "{attempts}");
    let publish = PublishOptions { timeout: Duration::from_secs(60), ..<_>::default() };
    connection.transport().publish(message("mesh.tools.mail.open", ""), publish).await.unwrap();
}

/// A server that answers probes until it is told to be silent, and again on each new connection.
#[derive(Clone, Default)]
struct Player {
    silent: Arc<AtomicBool>,
    sessions: Arc<AtomicU64>,
    /// The connections on which the subscription of the test was made.
    subscribed: Arc<Mutex<BTreeSet<u64>>>,
}

impl Player {
    async fn play(self, fake: Arc<FakeNats>) {
        loop {
            match fake.heard().await.unwrap() {
                Heard::Opened(number) => {
                    self.sessions.store(number, Ordering::Relaxed);
                    self.silent.store(false, Ordering::Relaxed);
                }
                // A subscription that is none.
                Heard::Line(line)
                    if line.contains(".>.") && !self.silent.load(Ordering::Relaxed) =>
                {
                    assert!(fake.say("-ERR 'Invalid Subject'\r\n") > 0);
                }
                Heard::Line(line) if line.contains("mesh.tools.>") => {
                    let session = self.sessions.load(Ordering::Relaxed);
                    self.subscribed.lock().insert(session);
                }
                _ => {}
            }
        }
    }
}

#[tokio::test]
async fn a_session_whose_probe_is_never_answered_is_given_up_with_all_that_was_placed_in_it() {
    let fake = Arc::new(FakeNats::start(FakeConfig::new()).await.unwrap());
    let player = Player::default();
    let playing = tokio::spawn(player.clone().play(Arc::clone(&fake)));
    let target = target(fake.address(), module("n1", "mail"), bed::USER);
    // Pings are answered all the while, so the connection itself looks well.
    let options = NatsOptions { ping_interval: Duration::from_millis(500), ..quick() };
    let connection = connect(target, options).await.unwrap();
    let states = States::of(&connection);
    let transport = connection.transport();
    let mut heard = transport.subscribe(filter("mesh.tools.>"), <_>::default()).await.unwrap();
    let publish = |timeout| {
        let options = PublishOptions { timeout, ..<_>::default() };
        transport.publish(message("mesh.tools.mail.open", ""), options)
    };
    publish(Duration::from_secs(5)).await.unwrap();
    player.silent.store(true, Ordering::Relaxed);
    let error = publish(Duration::from_millis(200)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    let began = Instant::now();
    states.mended().await;
    publish(Duration::from_secs(5)).await.unwrap();
    println!("a probe without an answer: the next publish worked after {:.1?}", began.elapsed());
    let told = format!("{:?}", states.told());
    assert!(told.contains("no word from the server"), "{told}");
    assert!(matches!(heard.next().await, Some(Err(ReceiveError::Interrupted))));
    let placed = player.subscribed.lock().clone();
    assert_eq!(placed, [1, player.sessions.load(Ordering::Relaxed)].into(), "in each session");
    playing.abort();
}
