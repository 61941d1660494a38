//! A client lives as long as its connection.

use std::time::Duration;

use async_nats::{Event, connection::State};
use futures_util::StreamExt as _;
use mesh_core::port::{ErrorKind, Operation};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::timeout;

use super::super::dial;
use super::dialled;
use super::fake::{Fake, Script, listening};
use crate::NatsOptions;
use crate::error::{publish_error, subscribe_error};

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(30), future).await.unwrap()
}

async fn to_the_end(events: &mut UnboundedReceiver<Event>) -> Vec<Event> {
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        seen.push(event);
    }
    seen
}

#[tokio::test]
async fn a_lost_connection_ends_the_client_and_nothing_dials_again() {
    let fake = Fake::start(Script::default()).await;
    let (events, mut heard) = listening();
    let target = fake.target("u:p", &fake.pin);
    let mut dialled = dial(&target, &NatsOptions::default(), events).await.unwrap();
    let client = dialled.client;
    let mut subscriber = client.subscribe("a.b").await.unwrap();

    fake.hang_up();
    soon(dialled.lost.wait()).await;
    assert!(soon(subscriber.next()).await.is_none());
    soon(dialled.lost.wait()).await; // again, at once

    // The events end with the client's task: nobody is left who could dial.
    let seen = soon(to_the_end(&mut heard)).await;
    assert_eq!(seen[..2], [Event::Connected, Event::Disconnected]);
    assert_eq!(client.connection_state(), State::Disconnected);
    assert_eq!(fake.accepted(), 1);

    let error = client.publish("a.b", "x".into()).await.unwrap_err();
    let error = publish_error(error, Operation::Publish, "a.b");
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Disconnected, true));
    let error = client.subscribe("a.b").await.unwrap_err();
    let error = subscribe_error(error, Operation::Subscribe, "a.b");
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Disconnected, true));
}

#[tokio::test]
async fn a_forced_reconnect_goes_nowhere() {
    let fake = Fake::start(Script::default()).await;
    let (events, mut heard) = listening();
    let target = fake.target("u:p", &fake.pin);
    let mut dialled = dial(&target, &NatsOptions::default(), events).await.unwrap();
    dialled.client.force_reconnect().await.unwrap();
    soon(dialled.lost.wait()).await;
    soon(to_the_end(&mut heard)).await;
    assert_eq!(fake.accepted(), 1);
}

#[tokio::test]
async fn a_server_that_falls_silent_is_lost() {
    let fake = Fake::start(Script::default()).await;
    let options = NatsOptions { ping_interval: Duration::from_millis(20), ..Default::default() };
    let target = fake.target("u:p", &fake.pin);
    // It answers the first PING, and no other.
    let mut dialled = dial(&target, &options, listening().0).await.unwrap();
    soon(dialled.lost.wait()).await;
    fake.ended(1).await;
    assert_eq!(fake.accepted(), 1);
}

#[tokio::test]
async fn dropping_the_client_ends_the_connection() {
    let fake = Fake::start(Script::default()).await;
    let mut dialled = dialled(&fake.target("u:p", &fake.pin)).await.unwrap();
    drop(dialled.client);
    soon(dialled.lost.wait()).await;
    fake.ended(1).await;
    assert_eq!(fake.accepted(), 1);
}

#[tokio::test]
async fn servers_that_the_server_names_are_not_dialled() {
    let fake = Fake::start(Script::default()).await;
    let dialled = dialled(&fake.target("u:p", &fake.pin)).await.unwrap();
    // The greeting names 192.0.2.1, too.
    let pool = dialled.client.server_pool().await.unwrap();
    let ports: Vec<_> = pool.iter().map(|server| server.addr.port()).collect();
    assert_eq!(ports, [fake.address.port(), 0]);
    assert!(pool.iter().all(|server| server.addr.host() == "127.0.0.1"));
}
