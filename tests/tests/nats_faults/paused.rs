//! Thousands of calls while the server's time stands still: each ends once and in its time, and what it
//! does afterwards is done once.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use mesh_core::identity::Responder;
use mesh_core::port::{Connection, ErrorKind, PublishOptions, ServeOptions, TransportError};
use mesh_testkit::fixtures::{filter, message, module, module_name};
use mesh_transport_nats::{NatsOptions, connect};

use crate::bed::{self, States};

/// Of each kind.
const CALLS: usize = 1000;
/// Shorter than the pause, and longer.
const TIMES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(60)];
const MARGIN: Duration = Duration::from_secs(5);

/// What the call of this number has.
fn time(number: usize) -> Duration {
    TIMES[number % 2]
}

/// The call of this number: an append, a request, or a live publish.
async fn call(connection: Connection, kind: usize, number: usize) -> Result<(), TransportError> {
    let (id, timeout) = (format!("event-{number}"), time(number));
    match kind {
        0 => {
            let options = bed::appending(&id, timeout);
            connection.streams().unwrap().append(bed::event(&id), options).await.map(drop)
        }
        1 => {
            let crm = Responder::Module(module_name("crm"));
            let asked = message(&format!("mesh.tools.crm.t{}", number % 7), &id);
            connection.requests().unwrap().request(crm, asked, timeout).await.map(drop)
        }
        _ => {
            let options = PublishOptions { timeout, ..<_>::default() };
            connection.transport().publish(message("mesh.tools.mail.said", &id), options).await
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_while_the_server_is_paused_end_in_their_time_and_are_done_once() {
    let rules = bed::rules(Duration::from_secs(60));
    let server = bed::server_with_mail(rules).await;
    // Nobody takes the server for dead meanwhile.
    let patient = || NatsOptions { ping_interval: Duration::from_secs(60), ..bed::quick() };
    let dial = |name: &str| {
        connect(bed::target(server.address(), module("n1", name), bed::USER), patient())
    };
    let (connection, crm) = (dial("mail").await.unwrap(), dial("crm").await.unwrap());
    let states = States::of(&connection);
    let mut events = bed::consume(&connection, bed::mail(), bed::reading(rules, 100)).await;
    // It takes all of them at once.
    let options = ServeOptions { buffer: NonZeroUsize::new(CALLS).unwrap(), ..<_>::default() };
    let serving = crm.requests().unwrap().serve(filter("mesh.tools.crm.>"), options);
    let mut calls = serving.await.unwrap();
    tokio::spawn(async move {
        while let Some(call) = calls.next().await {
            // Whoever asked may have given up, and the server is gone when the test is over.
            if let Ok(call) = call {
                let _ = call.answer(<_>::default(), "".into()).await;
            }
        }
    });

    server.pause().unwrap();
    let began = Instant::now();
    let ended = Arc::new(AtomicUsize::new(0));
    let calling = (0..3 * CALLS).map(|index| {
        let (kind, number) = (index / CALLS, index % CALLS);
        let (calling, ended) = (call(connection.clone(), kind, number), Arc::clone(&ended));
        let call = tokio::spawn(async move {
            let done = calling.await;
            ended.fetch_add(1, Ordering::Relaxed);
            (done, began.elapsed())
        });
        async move {
            let (done, after) = call.await.unwrap();
            (kind, number, done, after)
        }
    });
    let calling = tokio::spawn(join_all(calling.collect::<Vec<_>>()));
    // All short ones end before it goes on, whatever waits in front of them.
    let all_short = 3 * CALLS / 2;
    let short_ended = || (ended.load(Ordering::Relaxed) >= all_short).then_some(());
    bed::until("the short calls end", short_ended).await;
    let waiting = bed::figure(&connection, "waiting");
    assert!(waiting <= CALLS as u64 * 3 / 2 + 1, "{waiting} wait");
    server.resume().unwrap();
    let mut appended = HashSet::new();
    for (kind, number, done, after) in calling.await.unwrap() {
        assert!(after < time(number) + MARGIN, "{kind} {number}: {after:?}");
        match done {
            Ok(()) if kind == 0 => assert!(appended.insert(format!("event-{number}"))),
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::TimedOut, "{kind} {number}: {error}");
                assert_eq!(time(number), TIMES[0], "{kind} {number}: {error}");
            }
        }
    }
    assert_eq!(states.count(), 1, "{:?}", states.told());
    let stored = bed::stored(server.address()).await;
    println!("of {CALLS} appends {} were told as stored, and {stored} are", appended.len());
    // Each that is stored comes once, those that were told among them.
    let mut read = HashSet::new();
    for _ in 0..stored {
        let delivery = events.next().await.unwrap().unwrap();
        assert!(read.insert(bed::id_of(delivery.message())), "{delivery:?} is stored twice");
        delivery.ack().await.unwrap();
    }
    assert!(read.is_superset(&appended));
    connection.transport().flush(Duration::from_secs(20)).await.unwrap();
    assert_eq!((bed::figure(&connection, "waiting"), bed::figure(&connection, "unproven")), (0, 0));
}
