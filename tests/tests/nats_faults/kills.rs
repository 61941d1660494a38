//! A server that is killed again and again under load, confirmed event by confirmed event.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use mesh_core::port::{Connection, Deliveries, ReceiveError};
use mesh_testkit::fixtures::module;
use mesh_testkit::servers::nats::NatsServer;

use crate::bed;

const EVENTS: u64 = 100_000;
const KILLS: u64 = 20;
const PUBLISHERS: u64 = 4;
/// How many events each publisher has on their way.
const PIPELINE: usize = 64;
/// The bound of the whole.
const BOUND: Duration = Duration::from_secs(120);

#[derive(Default)]
struct Counts {
    appended: AtomicU64,
    /// Appends that the caller had to try again, with the same id.
    retried: AtomicU64,
    /// Appends whose event the stream already had.
    known: AtomicU64,
}

/// What a reader saw.
#[derive(Default, Debug)]
struct Read {
    handled: HashSet<String>,
    /// Deliveries that were not the first try.
    redelivered: u64,
    /// Deliveries of an event that was handled before.
    duplicates: u64,
    /// Acknowledgements that could not be said.
    unsaid: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_kills_under_load_lose_nothing_and_nothing_is_handled_twice() {
    let began = Instant::now();
    let rules = bed::rules(Duration::from_secs(3));
    let server = Arc::new(bed::server_with_mail(rules).await);
    let reader = bed::dial(server.address(), module("n1", "mail")).await;
    let deliveries = bed::consume(&reader, bed::mail(), bed::reading(rules, 256)).await;
    let reading = tokio::spawn(read(deliveries));

    let counts = Arc::new(Counts::default());
    let mut publishing = Vec::new();
    let mut publishers = Vec::new();
    for number in 0..PUBLISHERS {
        let connection = bed::dial(server.address(), module("n1", &format!("p{number}"))).await;
        publishers.push(connection.clone());
        publishing.push(tokio::spawn(publish(connection, number, counts.clone())));
    }
    let killing = tokio::spawn(kill(server.clone(), counts.clone()));
    for task in publishing {
        task.await.unwrap();
    }
    let appended_in = began.elapsed();
    killing.await.unwrap();
    let left = BOUND.saturating_sub(began.elapsed());
    let read = tokio::time::timeout(left, reading).await.expect("all within 120 s").unwrap();

    let stored = bed::stored(server.address()).await;
    let resent: u64 = publishers.iter().map(|publisher| bed::figure(publisher, "resent")).sum();
    println!(
        "{KILLS} kills: appended {}, stored {stored}, sent again by the adapter {resent}, by the caller {}, \
         already known {}; handled {}, redelivered {}, duplicates passed over {}, acks unsaid {}; \
         appended in {appended_in:.1?}, all in {:.1?}",
        counts.appended.load(Ordering::Relaxed),
        counts.retried.load(Ordering::Relaxed),
        counts.known.load(Ordering::Relaxed),
        read.handled.len(),
        read.redelivered,
        read.duplicates,
        read.unsaid,
        began.elapsed(),
    );
    assert_eq!(counts.appended.load(Ordering::Relaxed), EVENTS);
    assert_eq!(counts.retried.load(Ordering::Relaxed), 0, "the adapter itself tries again");
    assert_eq!(stored, EVENTS, "each event is stored once");
    assert_eq!(read.handled.len() as u64, EVENTS, "each event is handled");
}

/// Publishes this publisher's share, each event until it is confirmed.
async fn publish(connection: Connection, number: u64, counts: Arc<Counts>) {
    let share = EVENTS / PUBLISHERS;
    let events = (0..share).map(|event| number * share + event);
    let streams = connection.streams().unwrap();
    futures_util::stream::iter(events)
        .map(|event| {
            let counts = &counts;
            async move {
                let id = format!("event-{event}");
                loop {
                    let options = bed::appending(&id, Duration::from_secs(20));
                    match streams.append(bed::event(&id), options).await {
                        Ok(appended) => {
                            counts.appended.fetch_add(1, Ordering::Relaxed);
                            counts.known.fetch_add(appended.duplicate.into(), Ordering::Relaxed);
                            return;
                        }
                        Err(error) => {
                            assert!(error.may_retry(), "{error}: {error:?}");
                            counts.retried.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            }
        })
        .buffer_unordered(PIPELINE)
        .for_each(|()| async {})
        .await;
}

/// Kills and starts the server whenever another share of the events was appended.
async fn kill(server: Arc<NatsServer>, counts: Arc<Counts>) {
    for number in 1..=KILLS {
        let enough = number * EVENTS / (KILLS + 1);
        bed::until("another share of the events", || {
            (counts.appended.load(Ordering::Relaxed) >= enough).then_some(())
        })
        .await;
        server.kill().unwrap();
        server.start().await.unwrap();
    }
}

/// Handles each event once, until all were.
async fn read(mut deliveries: Deliveries) -> Read {
    let mut read = Read::default();
    while (read.handled.len() as u64) < EVENTS {
        match deliveries.next().await.expect("it goes on") {
            Ok(delivery) => {
                read.redelivered += u64::from(delivery.info().attempt > 1);
                let new = read.handled.insert(bed::id_of(delivery.message()));
                read.duplicates += u64::from(!new);
                read.unsaid += u64::from(delivery.ack().await.is_err());
            }
            Err(ReceiveError::Ended(error)) => panic!("reading ended: {error}: {error:?}"),
            Err(word) => println!("the reader was told: {word}"),
        }
    }
    read
}
