//! Many threads at once. Nothing here depends on who comes first.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mesh_clock::SystemClock;
use mesh_core::identity::Responder;
use mesh_core::port::{ErrorKind, ReceiveError, ServeOptions, SubscribeOptions};
use tokio::task::JoinSet;

use super::*;
use crate::InMemoryFilterBroker;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_read_and_what_is_told_add_up() {
    const EACH: u64 = 3000;
    let broker = InMemoryFilterBroker::new(Arc::new(SystemClock::new()));
    let (readers, writers) = (broker.connect(module("audit")), broker.connect(module("mail")));
    let mut reading = JoinSet::new();
    for (to, buffer) in [("a.b", 1), ("a.*", 16), ("a.>", 1024), (">", 1_000_000)] {
        let options =
            SubscribeOptions { buffer: NonZeroUsize::new(buffer).unwrap(), ..Default::default() };
        let transport = readers.transport();
        let mut subscription = transport.subscribe(filter(to), options).await.unwrap();
        reading.spawn(async move {
            let (mut seen, mut lost) = (0_u64, 0_u64);
            let mut last = [None::<u64>; 4];
            while let Some(arrival) = subscription.next().await {
                match arrival {
                    Ok(message) => {
                        let body = message.payload();
                        let (writer, number) = (usize::from(body[0]), &body[1..]);
                        let number = u64::from_be_bytes(number.try_into().unwrap());
                        assert!(last[writer] < Some(number), "out of order");
                        last[writer] = Some(number);
                        seen += 1;
                    }
                    Err(ReceiveError::Lagged { lost: some }) => lost += some,
                    Err(other) => panic!("{other}"),
                }
            }
            (seen, lost)
        });
    }
    let mut writing = JoinSet::new();
    for writer in 0..4_u8 {
        let transport = Arc::clone(writers.transport());
        writing.spawn(async move {
            for number in 0..EACH {
                let mut body = vec![writer];
                body.extend(number.to_be_bytes());
                let message = message("a.b", body);
                transport.publish(message, Default::default()).await.unwrap();
            }
        });
    }
    writing.join_all().await;
    readers.transport().close(Default::default()).await;
    for (seen, lost) in reading.join_all().await {
        assert_eq!(seen + lost, 4 * EACH);
    }
    assert_eq!(broker.statistics().subscriptions, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_event_is_handled_though_readers_come_and_go() {
    const EVENTS: u64 = 500;
    let bed = Bed::with(|topology| {
        let mut spec = topology.consumer(&events("n1_audit")).unwrap().clone();
        spec.rules.max_deliver = None;
        topology.with_consumer(spec)
    })
    .await;
    let mut readers = JoinSet::new();
    for reader in 0..4_u64 {
        let connection = bed.connect("audit");
        readers.spawn(async move {
            let mut handled = BTreeSet::new();
            let streams = connection.streams().unwrap();
            'connected: loop {
                let consume = streams.consume(events("n1_audit"), Default::default());
                let Ok(mut deliveries) = consume.await else {
                    return handled;
                };
                let mut held = Vec::new();
                for step in reader.. {
                    let Some(Ok(delivery)) = deliveries.next().await else {
                        return handled;
                    };
                    let sequence = delivery.info().sequence.unwrap();
                    match step % 7 {
                        0 => held.push(delivery),
                        1 => drop(delivery),
                        // The connection may have been severed since this came.
                        2 => match delivery.nak(None).await {
                            Ok(()) => {}
                            Err(_) => return handled,
                        },
                        3 if step % 11 == 0 => continue 'connected,
                        _ => {
                            if delivery.ack().await.is_err() {
                                return handled;
                            }
                            handled.insert(sequence);
                        }
                    }
                }
            }
        });
    }
    for _ in 0..EVENTS {
        bed.emit("a").await;
    }
    while bed.owed("n1_audit").await > 4 * 50 {
        tokio::task::yield_now().await;
    }
    // Held deliveries remain with those that hold them; the last reader gets them all.
    bed.broker.sever(&module("audit"));
    let mut handled = BTreeSet::new();
    for some in readers.join_all().await {
        handled.extend(some);
    }
    let last = bed.connect("audit");
    let mut deliveries = bed.read(&last, "n1_audit").await;
    while bed.owed("n1_audit").await > 0 {
        let delivery = next(&mut deliveries).await;
        handled.insert(delivery.info().sequence.unwrap());
        delivery.ack().await.unwrap();
    }
    assert_eq!(handled, (1..=EVENTS).collect());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_is_never_lost_between_servers_that_come_and_go() {
    const CALLS: usize = 8_000;
    let broker = InMemoryFilterBroker::new(Arc::new(SystemClock::new()));
    let stop = Arc::new(AtomicBool::new(false));
    let mut servers = JoinSet::new();
    for _ in 0..2 {
        let (server, stop) = (broker.connect(module("vault")), Arc::clone(&stop));
        servers.spawn(async move {
            let requests = server.requests().unwrap();
            while !stop.load(Ordering::Relaxed) {
                let tool = filter("mesh.tools.vault.open");
                let mut calls = requests.serve(tool, ServeOptions::default()).await.unwrap();
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                    while let Poll::Ready(Some(call)) = poll(&mut Box::pin(calls.next())) {
                        call.unwrap().answer(Default::default(), "yes".into()).await.unwrap();
                    }
                }
            }
        });
    }
    let mut callers = JoinSet::new();
    for _ in 0..4 {
        let caller = broker.connect(module("mail"));
        callers.spawn(async move {
            let requests = caller.requests().unwrap();
            let mut lost = 0;
            for _ in 0..CALLS / 4 {
                let responder = Responder::Module(ModuleName::new("vault").unwrap());
                let asked = requests.request(
                    responder,
                    message("mesh.tools.vault.open", "q"),
                    Duration::from_secs(5),
                );
                match asked.await {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::NoResponders => {
                        tokio::task::yield_now().await;
                    }
                    Err(_) => {
                        lost += 1;
                        break;
                    }
                }
            }
            lost
        });
    }
    let lost: usize = callers.join_all().await.into_iter().sum();
    stop.store(true, Ordering::Relaxed);
    servers.join_all().await;
    assert_eq!(lost, 0, "callers that nobody told");
}
