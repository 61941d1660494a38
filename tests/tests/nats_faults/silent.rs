//! Calls that nobody answers leave nothing behind (A18).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::{FutureExt, StreamExt};
use mesh_core::identity::Responder;
use mesh_core::port::{Call, Connection, ErrorKind};
use mesh_testkit::fixtures::{filter, message, module, module_name};
use mesh_testkit::servers::nats::NatsServer;

use crate::bed;

const CALLS: u64 = 10_000;
const AT_A_TIME: usize = 100;
const TIME: Duration = Duration::from_millis(5);
/// Every so-manieth call is dropped by its caller in the middle.
const DROPPED: u64 = 100;

fn silent() -> Responder {
    Responder::Module(module_name("silent"))
}

/// A module that takes calls and keeps them.
async fn keep_calls(server: &NatsServer, kept: Arc<parking_lot::Mutex<Vec<Call>>>) -> Connection {
    let module = bed::dial(server.address(), module("n1", "silent")).await;
    let serving = module.requests().unwrap().serve(filter("mesh.tools.silent.>"), <_>::default());
    let mut calls = serving.await.unwrap();
    tokio::spawn(async move {
        while let Some(call) = calls.next().await {
            if let Ok(call) = call {
                let mut kept = kept.lock();
                // More are not answered anyway.
                if kept.len() < 100 {
                    kept.push(call);
                }
            }
        }
    });
    module
}

async fn calls_without_an_answer() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let kept = Arc::default();
    let _module = keep_calls(&server, Arc::clone(&kept)).await;
    let caller = bed::dial(server.address(), module("n1", "mail")).await;
    let requests = caller.requests().unwrap();
    let began = Instant::now();
    let (timed_out, dropped) = (AtomicU64::new(0), AtomicU64::new(0));
    futures_util::stream::iter(0..CALLS)
        .for_each_concurrent(AT_A_TIME, |number| {
            let (timed_out, dropped) = (&timed_out, &dropped);
            async move {
                // Each has a subject of its own, or all have one.
                let tool = if number % 2 == 0 { number } else { 1 };
                let asked = message(&format!("mesh.tools.silent.t{tool}"), "");
                let mut asking = requests.request(silent(), asked, TIME);
                if number % DROPPED == 0 {
                    assert!((&mut asking).now_or_never().is_none());
                    tokio::task::yield_now().await;
                    dropped.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                let error = asking.await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
                timed_out.fetch_add(1, Ordering::Relaxed);
            }
        })
        .await;
    let took = began.elapsed();
    assert_eq!(bed::figure(&caller, "waiting"), 0);
    bed::until("proof of all that was sent", || {
        (bed::figure(&caller, "unproven") == 0).then_some(())
    })
    .await;

    // What comes too late is counted, and reaches nobody.
    bed::until("calls that were kept", || (kept.lock().len() == 100).then_some(())).await;
    let (calls, before): (Vec<_>, _) =
        (std::mem::take(&mut kept.lock()), bed::figure(&caller, "late"));
    for call in calls {
        call.answer(<_>::default(), "late".into()).await.unwrap();
    }
    bed::until("100 late answers", || (bed::figure(&caller, "late") == before + 100).then_some(()))
        .await;
    println!(
        "{CALLS} calls of {TIME:?} without an answer took {took:.1?}: {} timed out, {} dropped; \
         nothing waits, 100 late answers were counted",
        timed_out.into_inner(),
        dropped.into_inner(),
    );
    // An answer in time is still this call's own.
    let asked = message("mesh.tools.silent.t1", "now");
    let asking = requests.request(silent(), asked, Duration::from_secs(10));
    let answering = async {
        let call = loop {
            let call = kept.lock().pop();
            match call {
                Some(call) if call.message().payload().as_ref() == b"now" => break call,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        call.answer(<_>::default(), "in time".into()).await.unwrap();
    };
    let (answer, ()) = tokio::join!(asking, answering);
    assert_eq!(answer.unwrap().payload().as_ref(), b"in time");
    assert_eq!(bed::figure(&caller, "late"), before + 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_without_an_answer_leave_nothing_behind() {
    calls_without_an_answer().await;
}

#[tokio::test(flavor = "current_thread")]
async fn ten_thousand_calls_without_an_answer_leave_nothing_behind_on_one_thread() {
    calls_without_an_answer().await;
}

#[tokio::test]
async fn an_answer_after_its_deadline_is_dropped_and_counted() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let kept = Arc::default();
    let _module = keep_calls(&server, Arc::clone(&kept)).await;
    let caller = bed::dial(server.address(), module("n1", "mail")).await;
    let asked = message("mesh.tools.silent.t1", "");
    let wait = Duration::from_millis(100);
    let requests = caller.requests().unwrap();
    assert_eq!(
        requests.request(silent(), asked, wait).await.unwrap_err().kind(),
        ErrorKind::TimedOut
    );
    let call = bed::until("the call", || kept.lock().pop()).await;
    call.answer(<_>::default(), "".into()).await.unwrap();
    bed::until("a late answer", || (bed::figure(&caller, "late") == 1).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_every_kind_that_are_dropped_midway_leave_nothing_behind() {
    let server = bed::server_with_mail(bed::rules(Duration::from_secs(30))).await;
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let (transport, streams) = (connection.transport(), connection.streams().unwrap());
    let requests = connection.requests().unwrap();
    for number in 0..500 {
        let said = || message("mesh.tools.good.open", "");
        let id = format!("event-{number}");
        let yields = number % 4;
        let mut calls = vec![
            transport.publish(said(), <_>::default()),
            transport.publish(
                said(),
                mesh_core::port::PublishOptions { require_receiver: true, ..<_>::default() },
            ),
            requests.request(silent(), said(), bed::LONG).map(|done| done.map(drop)).boxed(),
            streams.append(bed::event(&id), bed::appending(&id, bed::LONG)).map(|_| Ok(())).boxed(),
            transport.subscribe(filter("a.b"), <_>::default()).map(|done| done.map(drop)).boxed(),
            streams.consume(bed::mail(), <_>::default()).map(|done| done.map(drop)).boxed(),
            transport.flush(bed::LONG),
        ];
        for call in &mut calls {
            if call.now_or_never().is_some() {
                continue;
            }
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
        }
        drop(calls);
    }
    transport.flush(Duration::from_secs(20)).await.unwrap();
    assert_eq!(bed::figure(&connection, "waiting"), 0);
    bed::until("proof of all that was sent", || {
        (bed::figure(&connection, "unproven") == 0).then_some(())
    })
    .await;
    bed::until("no place of a reader", || (bed::figure(&connection, "places") == 0).then_some(()))
        .await;
    bed::until("no reading", || (bed::figure(&connection, "readings") == 0).then_some(())).await;
    // The inbox is the one subscription that is left at the server.
    let due = Instant::now() + Duration::from_secs(10);
    loop {
        let connz = server.connz().await.unwrap();
        let subscriptions = connz["connections"][0]["subscriptions"].as_u64().unwrap();
        if subscriptions == 1 {
            break;
        }
        assert!(Instant::now() < due, "{subscriptions} subscriptions are left: {connz}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
