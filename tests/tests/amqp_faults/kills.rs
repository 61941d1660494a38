//! A broker that is killed again and again under load, confirmed event by confirmed event.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use mesh_core::port::{Connection, ConsumeOptions, Deliveries, ReceiveError};
use mesh_core::topology::StreamName;
use mesh_testkit::fixtures;
use mesh_testkit::servers::rabbit::RabbitServer;

use crate::bed::{self, LONG};

const EVENTS: u64 = 50_000;
const KILLS: u64 = 10;
const PUBLISHERS: u64 = 4;
/// How many events each publisher has on their way.
const PIPELINE: usize = 64;
/// The bound of the whole. A start takes seconds, and a machine that is busy more of them.
const BOUND: Duration = Duration::from_secs(300);

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
    /// How often the reader was told of an interruption.
    told: u64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_kills_under_load_lose_nothing_and_nothing_is_handled_twice() {
    let began = Instant::now();
    let modules = ["mail", "p0", "p1", "p2", "p3"];
    let server = Arc::new(bed::lasting_broker(&modules).await);
    let reader = bed::dial(&server, "mail").await;
    let mail = fixtures::consumer(StreamName::Events, "n1_mail");
    let options =
        ConsumeOptions { in_flight: NonZeroUsize::new(256).unwrap(), ..ConsumeOptions::default() };
    let deliveries = reader.streams().unwrap().consume(mail, options).await.unwrap();
    let reading = tokio::spawn(read(deliveries));

    let appended = Arc::new(AtomicU64::new(0));
    let mut publishing = Vec::new();
    let mut publishers = Vec::new();
    for number in 0..PUBLISHERS {
        let connection = bed::dial(&server, &format!("p{number}")).await;
        publishers.push(connection.clone());
        publishing.push(tokio::spawn(publish(connection, number, Arc::clone(&appended))));
    }
    let killing = tokio::spawn(kill(Arc::clone(&server), Arc::clone(&appended)));
    for task in publishing {
        task.await.unwrap();
    }
    let appended_in = began.elapsed();
    killing.await.unwrap();
    let left = BOUND.saturating_sub(began.elapsed());
    let read = tokio::time::timeout(left, reading).await.expect("all within the bound").unwrap();
    let resent: u64 = publishers.iter().map(|publisher| bed::figure(publisher, "resent")).sum();
    println!(
        "{KILLS} kills: appended {}, sent again by the adapter {resent}; handled {}, redelivered {}, \
         copies passed over {}, acks unsaid {}, told {} times; appended in {appended_in:.1?}, all in {:.1?}",
        appended.load(Ordering::Relaxed),
        read.handled.len(),
        read.redelivered,
        read.duplicates,
        read.unsaid,
        read.told,
        began.elapsed(),
    );
    assert_eq!(appended.load(Ordering::Relaxed), EVENTS);
    assert_eq!(read.handled.len() as u64, EVENTS, "each event is handled");
}

/// Appends this publisher's share, each event once: the adapter itself tries again.
async fn publish(connection: Connection, number: u64, appended: Arc<AtomicU64>) {
    let share = EVENTS / PUBLISHERS;
    let streams = connection.streams().unwrap();
    futures_util::stream::iter(number * share..(number + 1) * share)
        .for_each_concurrent(PIPELINE, |event| {
            let appended = &appended;
            async move {
                let id = format!("event-{event}");
                streams.append(bed::event(&id), bed::appending(&id, LONG)).await.unwrap();
                appended.fetch_add(1, Ordering::Relaxed);
            }
        })
        .await;
}

/// Kills and starts the broker whenever another share of the events was appended.
async fn kill(server: Arc<RabbitServer>, appended: Arc<AtomicU64>) {
    for number in 1..=KILLS {
        let enough = number * EVENTS / (KILLS + 1);
        bed::until("another share of the events", || {
            (appended.load(Ordering::Relaxed) >= enough).then_some(())
        })
        .await;
        server.kill().unwrap();
        server.start().await.unwrap();
    }
}

/// Handles each event once, as a runtime does that knows ids: until all were handled.
async fn read(mut deliveries: Deliveries) -> Read {
    let mut read = Read::default();
    while (read.handled.len() as u64) < EVENTS {
        match deliveries.next().await.expect("it goes on") {
            Ok(delivery) => {
                read.redelivered += u64::from(delivery.info().attempt > 1);
                let id = delivery.message().headers().value("x-event-id").unwrap().to_owned();
                read.duplicates += u64::from(!read.handled.insert(id));
                read.unsaid += u64::from(delivery.ack().await.is_err());
            }
            Err(ReceiveError::Ended(error)) => panic!("reading ended: {error}: {error:?}"),
            Err(_) => read.told += 1,
        }
    }
    read
}
