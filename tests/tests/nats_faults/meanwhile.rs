//! The connection is lost while a call is under way, or is away when it is made.

use std::time::Duration;

use mesh_core::identity::Responder;
use mesh_core::message::Headers;
use mesh_core::port::{
    CloseReport, Connection, ConsumeOptions, ErrorKind, PublishOptions, ServeOptions,
    SubscribeOptions,
};
use mesh_testkit::fixtures::{filter, message, module, module_name};
use mesh_testkit::servers::nats::NatsServer;
use mesh_testkit::servers::{Direction, Proxy};
use mesh_transport_nats::connect;
use tokio::time::timeout;

use crate::bed::{self, LONG, States, quick, target};

const FIND: &str = "mesh.tools.crm.find";
/// What must not take the whole of a long span.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection through a way that can be broken.
async fn through(server: &NatsServer) -> (Proxy, Connection) {
    let proxy = Proxy::before(server.address()).await.unwrap();
    let target = target(proxy.address(), module("n1", "crm"), bed::USER);
    let connection = connect(target, quick()).await.unwrap();
    (proxy, connection)
}

/// Makes `call`, loses its connection once it has been sent and before its answer comes, and returns what
/// came of it.
async fn loses<T: Send + 'static>(
    proxy: &Proxy,
    connection: &Connection,
    call: impl Future<Output = T> + Send + 'static,
) -> T {
    let states = States::of(connection);
    connection.transport().flush(PATIENCE).await.unwrap();
    proxy.stall(Direction::ToClient);
    let before = proxy.traffic().to_server;
    let call = tokio::spawn(call);
    // More than a ping.
    bed::until("the call is sent", || (proxy.traffic().to_server > before + 30).then_some(()))
        .await;
    proxy.cut().await;
    proxy.resume();
    let done = timeout(PATIENCE, call).await.unwrap().unwrap();
    states.mended().await;
    done
}

#[tokio::test]
async fn a_subscription_whose_connection_is_lost_meanwhile_is_made_in_the_next() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let (proxy, connection) = through(&server).await;
    let port = connection.transport().clone();
    let options = SubscribeOptions { timeout: PATIENCE, ..SubscribeOptions::default() };
    let subscribing = async move { port.subscribe(filter("mesh.tools.>"), options).await };
    let mut heard = loses(&proxy, &connection, subscribing).await.unwrap();
    let other = bed::dial(server.address(), module("n1", "mail")).await;
    other.transport().publish(message(FIND, "here"), PublishOptions::default()).await.unwrap();
    assert_eq!(heard.next().await.unwrap().unwrap().payload().as_ref(), b"here");
}

#[tokio::test]
async fn a_tool_whose_connection_is_lost_meanwhile_is_served_in_the_next() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let (proxy, connection) = through(&server).await;
    let port = connection.requests().unwrap().clone();
    let options = ServeOptions { timeout: PATIENCE, ..ServeOptions::default() };
    let serving = async move { port.serve(filter(FIND), options).await };
    let mut calls = loses(&proxy, &connection, serving).await.unwrap();
    let other = bed::dial(server.address(), module("n1", "mail")).await;
    let responder = Responder::Module(module_name("crm"));
    let asking = other.requests().unwrap().request(responder, message(FIND, "1"), PATIENCE);
    let answering = async {
        let call = calls.next().await.unwrap().unwrap();
        call.answer(Headers::default(), "2".into()).await
    };
    let (answer, answered) = tokio::join!(asking, answering);
    answered.unwrap();
    assert_eq!(answer.unwrap().payload().as_ref(), b"2");
}

#[tokio::test]
async fn a_reader_whose_connection_is_lost_meanwhile_reads_in_the_next() {
    let rules = bed::rules(Duration::from_secs(30));
    let server = bed::server_with_mail(rules).await;
    let (proxy, connection) = through(&server).await;
    let port = connection.streams().unwrap().clone();
    let options = ConsumeOptions { timeout: PATIENCE, ..bed::reading(rules, 10) };
    let consuming = async move { port.consume(bed::mail(), options).await };
    let mut read = loses(&proxy, &connection, consuming).await.unwrap();
    let other = bed::dial(server.address(), module("n1", "mail")).await;
    let appending = bed::appending("event-1", PATIENCE);
    other.streams().unwrap().append(bed::event("event-1"), appending).await.unwrap();
    let delivery = read.next().await.unwrap().unwrap();
    assert_eq!(bed::id_of(delivery.message()), "event-1");
    delivery.ack().await.unwrap();
    assert_eq!(bed::owed(server.address(), &bed::mail()).await, 0);
}

#[tokio::test]
async fn what_loses_its_connection_for_good_fails_when_its_time_is_over() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let (proxy, connection) = through(&server).await;
    proxy.refuse(true).await.unwrap();
    proxy.cut().await;
    let time = Duration::from_secs(1);
    let states = States::of(&connection);
    states.any("it is away", |state| !state.is_connected()).await;
    let (transport, requests) = (connection.transport(), connection.requests().unwrap());
    let streams = connection.streams().unwrap();
    let listening = SubscribeOptions { timeout: time, ..SubscribeOptions::default() };
    let serving = ServeOptions { timeout: time, ..ServeOptions::default() };
    let reading = ConsumeOptions { timeout: time, ..<_>::default() };
    let to_somebody = PublishOptions { timeout: time, require_receiver: true };
    let responder = Responder::Module(module_name("crm"));
    let failures = tokio::join!(
        async { transport.subscribe(filter(FIND), listening).await.unwrap_err() },
        async { requests.serve(filter(FIND), serving).await.unwrap_err() },
        async { requests.request(responder, message(FIND, ""), time).await.unwrap_err() },
        async { transport.publish(message(FIND, ""), to_somebody).await.unwrap_err() },
        async { streams.append(message(FIND, ""), bed::appending("1", time)).await.unwrap_err() },
        async { streams.consume(bed::mail(), reading).await.unwrap_err() },
    );
    let (subscribed, served, asked, published, appended, read) = failures;
    for error in [subscribed, served, asked, published, appended] {
        assert_eq!((error.kind(), error.subject()), (ErrorKind::Disconnected, Some(FIND)));
    }
    assert_eq!((read.kind(), read.subject()), (ErrorKind::Disconnected, Some("EVENTS/n1_mail")));
}

#[tokio::test]
async fn a_connection_that_is_away_and_owes_nothing_closes_at_once() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    let (proxy, connection) = through(&server).await;
    proxy.refuse(true).await.unwrap();
    proxy.cut().await;
    States::of(&connection).any("it is away", |state| !state.is_connected()).await;
    let report = timeout(PATIENCE, connection.transport().close(LONG)).await.unwrap();
    assert_eq!(report, CloseReport::default());
}
