//! Futures that are dropped after any number of polls, and sessions that end one after the other, leave
//! nothing behind.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mesh_core::identity::Responder;
use mesh_core::port::{Connection, PublishOptions};
use mesh_testkit::fixtures::{filter, message, module, module_name};
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_testkit::servers::{Certificate, Proxy};
use mesh_transport_nats::{NatsOptions, connect};

use crate::bed::{self, States};

const TIME: Duration = Duration::from_secs(20);

/// Polls its future so often, and then drops it. Answers whether it came to its end.
struct Polled<'a> {
    inner: Option<BoxFuture<'a, ()>>,
    left: u32,
}

impl Future for Polled<'_> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        let this = &mut *self;
        let Some(inner) = &mut this.inner else { return Poll::Ready(false) };
        if inner.poll_unpin(context).is_ready() {
            return Poll::Ready(true);
        }
        this.left -= 1;
        if this.left > 0 {
            return Poll::Pending;
        }
        this.inner = None;
        Poll::Ready(false)
    }
}

async fn polled(inner: BoxFuture<'_, ()>, polls: u32) -> bool {
    Polled { inner: Some(inner), left: polls }.await
}

/// Each kind of call.
fn calls(connection: &Connection) -> Vec<BoxFuture<'_, ()>> {
    let transport = connection.transport();
    let (requests, streams) = (connection.requests().unwrap(), connection.streams().unwrap());
    let said = || message("mesh.tools.mail.open", "");
    let heard = PublishOptions { require_receiver: true, ..<_>::default() };
    let crm = Responder::Module(module_name("crm"));
    // Nobody serves what is asked, or is asked what is served.
    let appending = streams.append(bed::event("x"), <_>::default());
    vec![
        transport.publish(said(), <_>::default()).map(drop).boxed(),
        transport.publish(said(), heard).map(drop).boxed(),
        transport.subscribe(filter("mesh.events.>"), <_>::default()).map(drop).boxed(),
        transport.flush(TIME).map(drop).boxed(),
        requests.request(crm, message("mesh.tools.crm.find", ""), TIME).map(drop).boxed(),
        requests.serve(filter("mesh.tools.mail.>"), <_>::default()).map(drop).boxed(),
        appending.map(drop).boxed(),
        streams.consume(bed::mail(), <_>::default()).map(drop).boxed(),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_are_dropped_after_any_number_of_polls_leave_nothing_behind() {
    let server = bed::server_with_mail(bed::rules(TIME)).await;
    // The client takes one command at a time, so there is much to wait for.
    let options = NatsOptions { client_capacity: 1.try_into().unwrap(), ..bed::quick() };
    let target = bed::target(server.address(), module("n1", "mail"), bed::USER);
    let connection = connect(target, options).await.unwrap();
    let mut most = 0;
    for polls in 1..25 {
        let all = calls(&connection).into_iter().map(|call| polled(call, polls));
        let done = futures_util::future::join_all(all).await;
        if done.iter().any(|done| !done) {
            most = polls;
        }
    }
    println!("some were not at their end after {most} polls");
    // A consumer is asked for before it is read: two answers, one after the other.
    assert!(most >= 2);
    connection.transport().flush(TIME).await.unwrap();
    for what in ["waiting", "unproven", "places", "readings"] {
        bed::until(what, || (bed::figure(&connection, what) == 0).then_some(())).await;
    }
    // The inbox is the one subscription that is left at the server.
    bed::until_async("its other subscriptions to be gone", async || {
        let connz = server.connz().await.unwrap();
        (connz["connections"][0]["subscriptions"] == 1).then_some(())
    })
    .await;
    connection
        .transport()
        .publish(message("mesh.tools.mail.open", ""), <_>::default())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_that_are_dropped_after_any_number_of_polls_leave_no_connection_behind() {
    let config = NatsConfig::new().tls(Certificate::local().unwrap()).with(format!(
        "accounts {{ MESH {{ users: [ {{ user: mail, password: \"{}\" }} ] }} }}",
        bed::PASSWORD
    ));
    let server = NatsServer::launch(config).await.unwrap();
    let pin = server.fingerprint().unwrap();
    let proxy = Proxy::before(server.address()).await.unwrap();
    // Nothing is there when it is looked for first: greeting, handshake, log-in, inbox.
    proxy.delay(Duration::from_millis(5));
    let mut polls = 1;
    loop {
        let target = bed::pinned(proxy.address(), "mail", bed::PASSWORD, &[&pin]);
        let trying = connect(target, bed::quick()).map(|made| drop(made.unwrap())).boxed();
        if polled(trying, polls).await {
            break;
        }
        polls += 1;
    }
    println!("an attempt takes {polls} polls");
    assert!(polls > 3);
    bed::connections(&server, 0).await;
}

#[tokio::test]
async fn sessions_that_end_one_after_the_other_leave_no_task_behind() {
    let rules = bed::rules(TIME);
    let server = bed::server_with_mail(rules).await;
    let proxy = Proxy::before(server.address()).await.unwrap();
    let options = NatsOptions {
        reconnect_min: Duration::from_millis(1),
        reconnect_max: Duration::from_millis(10),
        ..bed::quick()
    };
    let target = bed::target(proxy.address(), module("n1", "mail"), bed::USER);
    let connection = connect(target, options).await.unwrap();
    let _heard =
        connection.transport().subscribe(filter("mesh.tools.>"), <_>::default()).await.unwrap();
    let _events = bed::consume(&connection, bed::mail(), bed::reading(rules, 10)).await;
    let states = States::of(&connection);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for _ in 0..40 {
        let told = states.count();
        proxy.cut().await;
        states.mended_since(told).await;
    }
    bed::until("as many tasks as before", || (tasks() <= before).then_some(())).await;
}
