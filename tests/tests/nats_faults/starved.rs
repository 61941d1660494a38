//! A task that has done almost all that tokio lets it do in a turn makes calls: each comes out as it would
//! have, though what is there is often told to be not there yet.

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mesh_core::identity::Responder;
use mesh_core::port::{Connection, ErrorKind, PublishOptions, TransportError};
use mesh_testkit::fixtures::{filter, message, module, module_name};
use mesh_testkit::servers::nats::NatsServer;
use mesh_transport_nats::connect;

use crate::bed;

const TIME: Duration = Duration::from_secs(20);
/// What tokio lets a task do in a turn.
const TURN: u32 = 128;

/// Leaves its future so much of each turn.
struct Starved<'a, T> {
    inner: BoxFuture<'a, T>,
    left: u32,
}

impl<T> Future for Starved<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        for _ in self.left..TURN {
            if pin!(tokio::task::consume_budget()).poll(context).is_pending() {
                break;
            }
        }
        self.inner.poll_unpin(context)
    }
}

/// What it is, the call, and how it fails.
type Calling<'a> = (&'static str, BoxFuture<'a, Result<(), TransportError>>, Option<ErrorKind>);

fn calls(connection: &Connection) -> Vec<Calling<'_>> {
    use ErrorKind::{Denied, NoResponders};
    let transport = connection.transport();
    let (requests, streams) = (connection.requests().unwrap(), connection.streams().unwrap());
    let says = |place: &str, require_receiver| {
        let options = PublishOptions { require_receiver, timeout: TIME };
        transport.publish(message(place, ""), options).boxed()
    };
    let asks = |place: &str| {
        let silent = Responder::Module(module_name("silent"));
        requests.request(silent, message(place, ""), TIME).map(|done| done.map(drop)).boxed()
    };
    let hears = |place: &str| {
        transport.subscribe(filter(place), <_>::default()).map(|done| done.map(drop)).boxed()
    };
    let appending = streams.append(bed::event("1"), bed::appending("1", TIME));
    vec![
        ("publish", says("mesh.tools.good.x", false), None),
        ("publish denied", says("mesh.tools.bad.x", false), Some(Denied)),
        ("publish to somebody", says("mesh.tools.good.here", true), None),
        ("publish to somebody denied", says("mesh.tools.bad.x", true), Some(Denied)),
        ("publish to nobody", says("mesh.tools.good.x", true), Some(NoResponders)),
        ("request denied", asks("mesh.tools.bad.x"), Some(Denied)),
        ("request to nobody", asks("mesh.tools.good.x"), Some(NoResponders)),
        ("append", appending.map(|done| done.map(drop)).boxed(), None),
        ("subscribe", hears("mesh.tools.good.x"), None),
        ("subscribe denied", hears("mesh.tools.bad.x"), Some(Denied)),
        ("flush", transport.flush(TIME).boxed(), None),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_a_task_that_has_little_left_of_its_turn_come_out_the_same() {
    let rights = format!(
        "{{ user: poor, password: \"{}\", permissions: {{ \
         publish: {{ allow: [ \"_INBOX.mail.n1.echo.>\", \"mesh.tools.good.>\", \"mesh.events.mail.>\" ] }}, \
         subscribe: {{ allow: [ \"_INBOX.mail.n1.>\", \"mesh.tools.good.>\" ] }} }} }}",
        bed::PASSWORD
    );
    let server = NatsServer::launch(bed::config(&rights)).await.unwrap();
    bed::assert(server.address(), &bed::events(&[]), 1).await;
    let target = bed::target(server.address(), module("n1", "mail"), "poor");
    let connection = connect(target, bed::quick()).await.unwrap();
    let other = bed::dial(server.address(), module("n1", "crm")).await;
    let _here =
        other.transport().subscribe(filter("mesh.tools.good.here"), <_>::default()).await.unwrap();
    let trying = tokio::spawn(async move {
        for left in 1..30 {
            for (what, call, expected) in calls(&connection) {
                let done = Starved { inner: call, left }.await;
                let kind = done.as_ref().err().map(TransportError::kind);
                assert_eq!(kind, expected, "{what}, {left} left: {done:?}");
            }
        }
    });
    trying.await.unwrap();
}
