//! Publishing while the broker or the way to it goes: what was confirmed is there, and what was not is sent
//! again until its time is over.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use mesh_core::port::{Connection, ErrorKind};
use mesh_testkit::servers::{Direction, Proxy};
use mesh_transport_amqp::connect;

use crate::bed::{self, LONG, States};

const EVENTS: u64 = 10_000;
const CUTS: u64 = 10;
const PIPELINE: usize = 128;

/// Appends them all, each once as far as the caller is concerned.
async fn append_all(connection: Connection, done: Arc<AtomicU64>) {
    let streams = connection.streams().unwrap();
    futures_util::stream::iter(0..EVENTS)
        .for_each_concurrent(PIPELINE, |event| {
            let done = &done;
            async move {
                let id = format!("event-{event}");
                streams.append(bed::event(&id), bed::appending(&id, LONG)).await.unwrap();
                done.fetch_add(1, Ordering::Relaxed);
            }
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_that_is_cut_again_and_again_loses_nothing() {
    let server = bed::broker(&["mail"]).await;
    let proxy = Proxy::before(server.address()).await.unwrap();
    let target = bed::target_at(&server, proxy.address(), "mail", bed::PASSWORD);
    let mail = connect(target, bed::quick()).await.unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let appending = tokio::spawn(append_all(mail.clone(), Arc::clone(&done)));
    for cut in 1..=CUTS {
        let enough = cut * EVENTS / (CUTS + 1);
        bed::until("another share", || (done.load(Ordering::Relaxed) >= enough).then_some(()))
            .await;
        proxy.cut().await;
    }
    appending.await.unwrap();
    let took = began.elapsed();
    let there = bed::taken(server.management()).await;
    let different: BTreeSet<_> = there.iter().cloned().collect();
    println!(
        "{CUTS} cuts: {EVENTS} events in {took:.1?}, sent again {}, copies {}",
        bed::figure(&mail, "resent"),
        there.len() - different.len(),
    );
    let wanted: BTreeSet<_> = (0..EVENTS).map(|event| format!("event-{event}")).collect();
    assert!(different == wanted, "{} of {EVENTS} are there", different.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_waits_for_a_broker_that_restarts() {
    let server = bed::lasting_broker(&["mail"]).await;
    let mail = bed::dial(&server, "mail").await;
    let states = States::of(&mail);
    let streams = mail.streams().unwrap();
    streams.append(bed::event("one"), bed::appending("one", LONG)).await.unwrap();
    server.kill().unwrap();
    states.lost("").await;
    let appending = streams.append(bed::event("two"), bed::appending("two", LONG));
    let starting = async { server.start().await.unwrap() };
    let (appended, ()) = tokio::join!(appending, starting);
    appended.unwrap();
    let there = bed::taken(server.management()).await;
    assert_eq!(there.iter().collect::<BTreeSet<_>>().len(), 2, "{there:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_append_without_a_broker_ends_in_its_time_and_says_why() {
    let server = bed::broker(&["mail"]).await;
    let mail = bed::dial(&server, "mail").await;
    server.kill().unwrap();
    let (began, time) = (Instant::now(), Duration::from_secs(1));
    let streams = mail.streams().unwrap();
    let error = streams.append(bed::event("one"), bed::appending("one", time)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Disconnected | ErrorKind::TimedOut), "{error}");
    assert!(error.may_retry() && error.subject().is_some(), "{error}");
    assert!(began.elapsed() < time + Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_falls_silent_is_left_for_a_new_connection() {
    let server = bed::broker(&["mail"]).await;
    let proxy = Proxy::before(server.address()).await.unwrap();
    let target = bed::target_at(&server, proxy.address(), "mail", bed::PASSWORD);
    let mail = connect(target, bed::quick()).await.unwrap();
    let states = States::of(&mail);
    let streams = mail.streams().unwrap();
    proxy.stall(Direction::ToServer);
    proxy.stall(Direction::ToClient);
    let (began, time) = (Instant::now(), Duration::from_millis(500));
    let error = streams.append(bed::event("one"), bed::appending("one", time)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    states.lost("heartbeat").await;
    println!("a silent broker was left after {:.1?}", began.elapsed());
    proxy.resume();
    streams.append(bed::event("two"), bed::appending("two", LONG)).await.unwrap();
    let there = bed::taken(server.management()).await;
    // Whether the first one arrived nobody knows.
    assert_eq!(there.last().unwrap(), "two", "{there:?}");
}
