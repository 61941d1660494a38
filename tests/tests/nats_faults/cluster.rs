//! Three servers that keep a stream together, and lose its leader, or more than they can bear.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use mesh_core::port::{Connection, Deliveries, ErrorKind, ReceiveError};
use mesh_testkit::fixtures::module;
use mesh_testkit::servers::Proxy;
use mesh_testkit::servers::nats::{Cluster, NatsServer};
use parking_lot::Mutex;

use crate::bed;

const EVENTS: u64 = 8_000;
const PIPELINE: usize = 32;
/// The next leader is there within 4 to 8 s; the machine is busy.
const OUTAGE: Duration = Duration::from_secs(60);

async fn three() -> Cluster {
    let cluster = Cluster::of_three(bed::config("")).await.unwrap();
    let rules = bed::rules(Duration::from_secs(5));
    let first = cluster.members()[0].address();
    bed::assert(first, &bed::events(&[(bed::mail(), rules)]), 3).await;
    cluster
}

/// The leader of the events, and the two others.
async fn roles(cluster: &Cluster) -> (&NatsServer, Vec<&NatsServer>) {
    let leader = cluster.leader_of("EVENTS").await.unwrap();
    let others = cluster.members().iter().filter(|member| member.name() != leader.name());
    (leader, others.collect())
}

/// Publishes events from this number on, each until it is confirmed, and notes when each was.
async fn publish(
    connection: Connection,
    from: u64,
    confirmed: Arc<Mutex<Vec<(String, Instant)>>>,
    count: Arc<AtomicU64>,
) {
    let streams = connection.streams().unwrap();
    futures_util::stream::iter(from..from + EVENTS / 2)
        .for_each_concurrent(PIPELINE, |number| {
            let (confirmed, count) = (&confirmed, &count);
            async move {
                let id = format!("event-{number}");
                let options = bed::appending(&id, OUTAGE);
                let appended = streams.append(bed::event(&id), options).await;
                let appended = appended.unwrap_or_else(|error| panic!("{error}: {error:?}"));
                assert!(!appended.duplicate, "another try of one's own is no duplicate");
                confirmed.lock().push((id, Instant::now()));
                count.fetch_add(1, Ordering::Relaxed);
            }
        })
        .await;
}

/// Reads until all events were handled; how many came again.
async fn read(mut deliveries: Deliveries, wanted: u64) -> (HashSet<String>, u64) {
    let (mut handled, mut again) = (HashSet::new(), 0);
    while (handled.len() as u64) < wanted {
        match deliveries.next().await.expect("it goes on") {
            Ok(delivery) => {
                again += u64::from(!handled.insert(bed::id_of(delivery.message())));
                let _ = delivery.ack().await;
            }
            Err(ReceiveError::Ended(error)) => panic!("reading ended: {error}: {error:?}"),
            Err(word) => println!("the reader was told: {word}"),
        }
    }
    (handled, again)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_loss_of_a_leader_under_load_loses_nothing_and_ends_no_reader() {
    let cluster = three().await;
    let (leader, others) = roles(&cluster).await;
    // One client is at the leader, behind a name that leads elsewhere afterwards; one is at another.
    let proxy = Proxy::before(leader.address()).await.unwrap();
    let moved = bed::dial(proxy.address(), module("n1", "p0")).await;
    let stays = bed::dial(others[0].address(), module("n1", "p1")).await;
    let reader = bed::dial(others[1].address(), module("n1", "mail")).await;
    let rules = bed::rules(Duration::from_secs(5));
    let deliveries = bed::consume(&reader, bed::mail(), bed::reading(rules, 200)).await;
    let reading = tokio::spawn(read(deliveries, EVENTS));

    let (confirmed, count) = (Arc::default(), Arc::new(AtomicU64::new(0)));
    let publishing = [(moved.clone(), 0), (stays.clone(), EVENTS / 2)].map(|(connection, from)| {
        tokio::spawn(publish(connection, from, Arc::clone(&confirmed), Arc::clone(&count)))
    });
    bed::until("a quarter of the events", || {
        (count.load(Ordering::Relaxed) >= EVENTS / 4).then_some(())
    })
    .await;
    proxy.lead_to(others[0].address());
    leader.kill().unwrap();
    let killed = Instant::now();
    for publisher in publishing {
        publisher.await.unwrap();
    }
    let appended = killed.elapsed();
    let reading = tokio::time::timeout(OUTAGE, reading).await.expect("all events in time");
    let (handled, again) = reading.unwrap();

    let confirmed = std::mem::take(&mut *confirmed.lock());
    let mut times: Vec<_> = confirmed.iter().map(|(_, at)| *at).collect();
    times.sort();
    let gap = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    let resent = bed::figure(&moved, "resent") + bed::figure(&stays, "resent");
    println!(
        "the leader of EVENTS was killed: {} confirmed, {} handled, {again} came again, {resent} sent \
         again; nothing was confirmed for {gap:.1?}, all in {appended:.1?} after the kill",
        confirmed.len(),
        handled.len(),
    );
    let lost = confirmed.iter().filter(|(id, _)| !handled.contains(id)).count();
    assert_eq!((confirmed.len() as u64, lost), (EVENTS, 0));
    assert_eq!(bed::stored(others[0].address()).await, EVENTS, "each is stored once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_stands_still_and_wakes_up_behind_another_loses_nothing() {
    let cluster = three().await;
    let (leader, others) = roles(&cluster).await;
    let at_leader = bed::dial(leader.address(), module("n1", "p0")).await;
    let elsewhere = bed::dial(others[0].address(), module("n1", "p1")).await;
    let reader = bed::dial(others[1].address(), module("n1", "mail")).await;
    let rules = bed::rules(Duration::from_secs(5));
    let deliveries = bed::consume(&reader, bed::mail(), bed::reading(rules, 200)).await;
    let reading = tokio::spawn(read(deliveries, EVENTS));
    let (confirmed, count) = (Arc::default(), Arc::new(AtomicU64::new(0)));
    let publishing = [(at_leader, 0), (elsewhere, EVENTS / 2)].map(|(connection, from)| {
        tokio::spawn(publish(connection, from, Arc::clone(&confirmed), Arc::clone(&count)))
    });
    bed::until("a quarter of the events", || {
        (count.load(Ordering::Relaxed) >= EVENTS / 4).then_some(())
    })
    .await;
    leader.pause().unwrap();
    bed::until_async("another leader of the events", async || {
        for other in &others {
            let jsz = other.jsz().await.unwrap();
            let stream = &jsz["account_details"][0]["stream_detail"][0];
            if stream["cluster"]["leader"] == other.name() {
                return Some(());
            }
        }
        None
    })
    .await;
    // It takes itself for the leader yet, and has answers to give.
    leader.resume().unwrap();
    for publisher in publishing {
        publisher.await.unwrap();
    }
    let reading = tokio::time::timeout(OUTAGE, reading).await.expect("all events in time");
    let (handled, again) = reading.unwrap();
    let confirmed = std::mem::take(&mut *confirmed.lock());
    println!("a leader woke up: {} confirmed, {again} came again", confirmed.len());
    let lost = confirmed.iter().filter(|(id, _)| !handled.contains(id)).count();
    assert_eq!((confirmed.len() as u64, lost), (EVENTS, 0));
    assert_eq!(bed::stored(others[0].address()).await, EVENTS, "each is stored once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_quorum_calls_end_in_their_time_and_readers_wait() {
    let cluster = three().await;
    let (leader, others) = roles(&cluster).await;
    let survivor = others[0];
    let connection = bed::dial(survivor.address(), module("n1", "mail")).await;
    let rules = bed::rules(Duration::from_secs(5));
    let mut deliveries = bed::consume(&connection, bed::mail(), bed::reading(rules, 10)).await;
    let streams = connection.streams().unwrap();
    let append = |id: &'static str, time| streams.append(bed::event(id), bed::appending(id, time));
    append("before", OUTAGE).await.unwrap();
    deliveries.next().await.unwrap().unwrap().ack().await.unwrap();

    leader.kill().unwrap();
    others[1].kill().unwrap();
    // For as long as an absence is patient with one server.
    for time in [500, 3000, 3000] {
        let (time, began) = (Duration::from_millis(time), Instant::now());
        let error = append("meanwhile", time).await.unwrap_err();
        let took = began.elapsed();
        println!("without a quorum an append of {time:?} took {took:.1?}: {error}");
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert!(error.may_retry() && took < time + Duration::from_secs(5), "{took:?}");
    }
    let nothing = tokio::time::timeout(Duration::from_secs(2), deliveries.next()).await;
    assert!(nothing.is_err(), "the reader waits, and is told no end: {nothing:?}");

    leader.start().await.unwrap();
    append("after", OUTAGE).await.unwrap();
    let mut seen = HashSet::new();
    while !seen.contains("after") {
        let next = tokio::time::timeout(OUTAGE, deliveries.next()).await.expect("an event");
        let delivery = next.unwrap().unwrap();
        seen.insert(bed::id_of(delivery.message()));
        delivery.ack().await.unwrap();
    }
    println!("after the quorum was back the reader had {seen:?}");
}
