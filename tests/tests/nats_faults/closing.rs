//! Closing (A4): what was accepted reaches the server, or is named.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, MaybeDone, join_all, maybe_done};
use mesh_core::identity::Responder;
use mesh_core::port::{
    CloseReport, Connection, ErrorKind, PublishOptions, ReceiveError, SubscribeOptions,
    TransportError,
};
use mesh_testkit::fixtures::{event, filter, message, module, module_name};
use mesh_testkit::servers::nats::NatsServer;
use mesh_testkit::servers::{Direction, Proxy};
use tokio::runtime::{Builder, Runtime};

use crate::bed::{self, States};

const COUNT: u64 = 500;
const PATIENCE: Duration = Duration::from_secs(20);

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn live() -> String {
    event("mail", "letter.read").to_string()
}

/// Runs `work` on a runtime of its own, on another thread, and ends that runtime at once.
async fn elsewhere<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let thread = std::thread::spawn(move || {
        let runtime = runtime();
        let done = runtime.block_on(work);
        runtime.shutdown_background();
        done
    });
    tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_published_and_appended_before_close_is_there_when_the_runtime_ends_at_once() {
    let server = bed::server_with_mail(bed::rules(PATIENCE)).await;
    let address = server.address();
    let listener = bed::dial(address, module("n1", "crm")).await;
    let mut heard =
        listener.transport().subscribe(filter("mesh.tools.>"), <_>::default()).await.unwrap();
    let report = elsewhere(async move {
        let connection = bed::dial(address, module("n1", "mail")).await;
        let streams = connection.streams().unwrap();
        for number in 0..COUNT {
            let publish = message("mesh.tools.mail.open", &number.to_string());
            connection.transport().publish(publish, <_>::default()).await.unwrap();
            let options = bed::appending(&format!("event-{number}"), PATIENCE);
            streams.append(bed::event("x"), options).await.unwrap();
        }
        connection.transport().close(PATIENCE).await
    })
    .await;
    assert_eq!(report, CloseReport::default(), "nothing was under way");
    for number in 0..COUNT {
        let next = heard.next().await.unwrap().unwrap();
        assert_eq!(next.payload().as_ref(), number.to_string().as_bytes());
    }
    assert_eq!(bed::stored(address).await, COUNT);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_is_under_way_when_close_is_called_is_brought_to_the_server() {
    let server = bed::server_with_mail(bed::rules(PATIENCE)).await;
    let address = server.address();
    let (report, results) = elsewhere(async move {
        let connection = bed::dial(address, module("n1", "mail")).await;
        let calls = begin(&connection, COUNT, COUNT);
        tokio::join!(connection.transport().close(PATIENCE), end(calls))
    })
    .await;
    println!("{COUNT} publishes and {COUNT} appends were under way: {report:?}");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    // Some may be over before, and of the appends those that wait for the window's places are not
    // under way.
    assert!(report.finished > 0 && report.lost == 0, "{report:?}");
    assert_eq!(bed::stored(address).await, COUNT);
}

type Call<'a> = Pin<Box<MaybeDone<BoxFuture<'a, Result<(), TransportError>>>>>;

/// So many publishes and appends, each of them accepted.
fn begin(connection: &Connection, publishes: u64, appends: u64) -> Vec<Call<'_>> {
    let publishing = (0..publishes).map(|number| {
        let options = PublishOptions { timeout: PATIENCE, ..<_>::default() };
        let message = message("mesh.tools.mail.open", &number.to_string());
        connection.transport().publish(message, options).boxed()
    });
    let appending = (0..appends).map(|number| {
        let options = bed::appending(&format!("event-{number}"), PATIENCE);
        let appending = connection.streams().unwrap().append(bed::event("x"), options);
        appending.map(|appended| appended.map(drop)).boxed()
    });
    let mut calls: Vec<Call<'_>> =
        publishing.chain(appending).map(|call| Box::pin(maybe_done(call))).collect();
    for call in &mut calls {
        let _ = call.now_or_never();
    }
    calls
}

/// What came of them.
async fn end(mut calls: Vec<Call<'_>>) -> Vec<Result<(), TransportError>> {
    join_all(calls.iter_mut()).await;
    calls.iter_mut().map(|call| call.as_mut().take_output().unwrap()).collect()
}

#[tokio::test]
async fn close_without_a_server_ends_in_its_time_and_names_what_was_lost() {
    let server = bed::server_with_mail(bed::rules(PATIENCE)).await;
    close_without_answers(&server, || server.kill().unwrap()).await;
}

#[tokio::test]
async fn close_with_a_silent_server_ends_in_its_time_and_names_what_was_lost() {
    let server = bed::server_with_mail(bed::rules(PATIENCE)).await;
    close_without_answers(&server, || server.pause().unwrap()).await;
    server.resume().unwrap();
}

async fn close_without_answers(server: &NatsServer, stop: impl Fn()) {
    // A session that is silent stays for longer than the test.
    let target = bed::target(server.address(), module("n1", "mail"), bed::USER);
    let options = mesh_transport_nats::NatsOptions { ping_interval: PATIENCE, ..bed::quick() };
    let connection = mesh_transport_nats::connect(target, options).await.unwrap();
    let states = States::of(&connection);
    let rules = bed::rules(PATIENCE);
    let mut deliveries = bed::consume(&connection, bed::mail(), bed::reading(rules, 10)).await;
    let streams = connection.streams().unwrap();
    let mut held = Vec::new();
    for number in 0..5 {
        let options = bed::appending(&format!("before-{number}"), PATIENCE);
        streams.append(bed::event("x"), options).await.unwrap();
        held.push(deliveries.next().await.unwrap().unwrap());
    }
    stop();
    // Each is accepted, and hangs.
    let calls = begin(&connection, 7, 11);
    let mut settling: Vec<_> = held.drain(..3).map(|delivery| delivery.ack().boxed()).collect();
    for ack in &mut settling {
        let _ = ack.now_or_never();
    }
    let began = Instant::now();
    let (report, results) =
        tokio::join!(connection.transport().close(Duration::from_secs(1)), end(calls));
    let took = began.elapsed();
    println!("close without answers took {took:.1?}: {report:?}");
    assert!(took >= Duration::from_secs(1) && took < Duration::from_secs(6), "{took:?}");
    assert_eq!(report.lost, 7 + 11 + 3, "publishes, appends and acknowledgements");
    for result in results {
        let kind = result.unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::Closed | ErrorKind::Disconnected), "{kind}");
    }
    states.any("the end", |state| matches!(state, mesh_core::port::ConnectionState::Closed)).await;
}

#[tokio::test]
async fn of_two_closes_at_once_each_ends_and_together_they_count_once() {
    let server = bed::server_with_mail(bed::rules(PATIENCE)).await;
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let calls = begin(&connection, 20, 20);
    let transport = connection.transport();
    let (one, other, results) =
        tokio::join!(transport.close(PATIENCE), transport.close(PATIENCE), end(calls));
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert!((1..=40).contains(&(one.finished + other.finished)), "{one:?}, {other:?}");
    assert!(one == CloseReport::default() || other == CloseReport::default());
    assert_eq!(one.lost + other.lost, 0);
    assert_eq!(transport.close(PATIENCE).await, CloseReport::default());
    bed::connections(&server, 0).await;
}

#[tokio::test]
async fn a_close_that_nobody_waits_for_is_brought_to_its_end() {
    let server = bed::server_with_mail(bed::rules(PATIENCE)).await;
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let states = States::of(&connection);
    let calls = begin(&connection, 20, 20);
    assert!(connection.transport().close(PATIENCE).now_or_never().is_none());
    let results = end(calls).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    states.any("the end", |state| matches!(state, mesh_core::port::ConnectionState::Closed)).await;
    bed::connections(&server, 0).await;
    let late = connection.transport().publish(message(&live(), ""), <_>::default()).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_outlives_the_runtime_of_its_connection_ends_and_says_why() {
    let rules = bed::rules(PATIENCE);
    let server = bed::server_with_mail(rules).await;
    let address = server.address();
    let (connection, mut heard, mut events, held) = elsewhere(async move {
        let connection = bed::dial(address, module("n1", "mail")).await;
        let heard = connection.transport().subscribe(filter("mesh.tools.>"), <_>::default());
        let heard = heard.await.unwrap();
        let mut events = bed::consume(&connection, bed::mail(), bed::reading(rules, 10)).await;
        let options = bed::appending("event-1", PATIENCE);
        connection.streams().unwrap().append(bed::event("x"), options).await.unwrap();
        let held = events.next().await.unwrap().unwrap();
        (connection, heard, events, held)
    })
    .await;
    let over = |error: &TransportError| {
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        assert!(error.to_string().contains("runtime"), "{error}");
    };
    match tokio::time::timeout(PATIENCE, heard.next()).await.unwrap() {
        Some(Err(ReceiveError::Ended(error))) => over(&error),
        other => panic!("{other:?}"),
    }
    match tokio::time::timeout(PATIENCE, events.next()).await.unwrap() {
        Some(Err(ReceiveError::Ended(error))) => over(&error),
        other => panic!("{other:?}"),
    }
    let late = connection.transport().publish(message(&live(), ""), <_>::default()).await;
    assert_eq!(late.unwrap_err().kind(), ErrorKind::Closed);
    let unsettled = tokio::time::timeout(PATIENCE, held.ack()).await.unwrap();
    assert!(unsettled.is_err(), "it comes again");
    assert_eq!(connection.transport().close(PATIENCE).await, CloseReport::default());
    // Neither needs a runtime to go.
    std::thread::spawn(move || drop((connection, heard, events))).join().unwrap();
    bed::connections(&server, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn calls_under_way_when_the_runtime_of_their_connection_ends_say_so_at_once() {
    let server = bed::server_with_mail(bed::rules(PATIENCE)).await;
    let proxy = Proxy::before(server.address()).await.unwrap();
    for wait in [true, false] {
        let other = runtime();
        let address = proxy.address();
        let dialling = other.spawn(async move { bed::dial(address, module("n1", "mail")).await });
        let connection = dialling.await.unwrap();
        // Nothing is answered any more.
        proxy.stall(Direction::ToClient);
        let (transport, streams) = (connection.transport(), connection.streams().unwrap());
        let options = |require_receiver| PublishOptions { require_receiver, timeout: bed::LONG };
        let asked = message("mesh.tools.crm.find", "");
        let crm = Responder::Module(module_name("crm"));
        let asking = connection.requests().unwrap().request(crm, asked, bed::LONG);
        let appending = streams.append(bed::event("x"), bed::appending("x", bed::LONG));
        let subscribing = transport.subscribe(
            filter("mesh.tools.>"),
            SubscribeOptions { timeout: bed::LONG, ..<_>::default() },
        );
        let mut calls: Vec<BoxFuture<'_, Result<(), TransportError>>> = vec![
            transport.publish(message(&live(), ""), options(false)),
            transport.publish(message(&live(), ""), options(true)),
            transport.flush(bed::LONG),
            asking.map(|done| done.map(drop)).boxed(),
            appending.map(|done| done.map(drop)).boxed(),
            subscribing.map(|done| done.map(drop)).boxed(),
        ];
        for call in &mut calls {
            assert!(call.now_or_never().is_none());
        }
        if wait {
            tokio::task::spawn_blocking(move || drop(other)).await.unwrap();
        } else {
            other.shutdown_background();
        }
        for done in tokio::time::timeout(PATIENCE, join_all(calls)).await.expect("ends at once") {
            let error = done.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        }
        proxy.resume();
    }
}
