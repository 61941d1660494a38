//! A client lives as long as its connection.

use std::time::Duration;

use async_nats::{Event, connection::State};
use futures_util::StreamExt as _;
use mesh_core::port::{ErrorKind, Operation};
use mesh_testkit::servers::nats::{FakeNats, Heard};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;

use super::super::dial;
use super::{dialled, fake, listening, secured, soon, target_of};
use crate::NatsOptions;
use crate::error::{publish_error, subscribe_error};

/// All events, up to the end of the client's task: after that, nobody is left who could dial.
async fn to_the_end(events: &mut UnboundedReceiver<Event>) -> Vec<Event> {
    let mut seen = Vec::new();
    while let Some(event) = events.recv().await {
        seen.push(event);
    }
    seen
}

/// That the fake had one visitor, who has left.
async fn visited_once(fake: &FakeNats) {
    let visit = fake.whole_visit().await.unwrap();
    assert_eq!((visit.first(), visit.last()), (Some(&Heard::Opened(1)), Some(&Heard::Closed(1))));
    // This one is the second, so nobody came between.
    let _second = TcpStream::connect(fake.address()).await.unwrap();
    assert_eq!(fake.heard().await.unwrap(), Heard::Opened(2));
}

#[tokio::test]
async fn a_lost_connection_ends_the_client_and_nothing_dials_again() {
    let fake = fake(secured()).await;
    let (events, mut heard) = listening();
    let mut dialled = dial(&target_of(&fake), &NatsOptions::default(), events).await.unwrap();
    let client = dialled.client;
    let mut subscriber = client.subscribe("a.b").await.unwrap();

    fake.hang_up();
    soon(dialled.lost.wait()).await;
    assert!(soon(subscriber.next()).await.is_none());
    soon(dialled.lost.wait()).await; // again, at once
    let seen = soon(to_the_end(&mut heard)).await;
    assert_eq!(seen[..2], [Event::Connected, Event::Disconnected]);
    assert_eq!(client.connection_state(), State::Disconnected);
    visited_once(&fake).await;

    let error = client.publish("a.b", "x".into()).await.unwrap_err();
    let error = publish_error(error, Operation::Publish, "a.b");
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Disconnected, true));
    let error = client.subscribe("a.b").await.unwrap_err();
    let error = subscribe_error(error, Operation::Subscribe, "a.b");
    assert_eq!((error.kind(), error.may_retry()), (ErrorKind::Disconnected, true));
}

#[tokio::test]
async fn a_forced_reconnect_goes_nowhere() {
    let fake = fake(secured()).await;
    let (events, mut heard) = listening();
    let mut dialled = dial(&target_of(&fake), &NatsOptions::default(), events).await.unwrap();
    dialled.client.force_reconnect().await.unwrap();
    soon(dialled.lost.wait()).await;
    soon(to_the_end(&mut heard)).await;
    visited_once(&fake).await;
}

#[tokio::test]
async fn a_server_that_falls_silent_is_lost() {
    let fake = fake(secured().pongs(1)).await;
    let options = NatsOptions { ping_interval: Duration::from_millis(20), ..Default::default() };
    let mut dialled = dial(&target_of(&fake), &options, listening().0).await.unwrap();
    soon(dialled.lost.wait()).await;
    visited_once(&fake).await;
}

#[tokio::test]
async fn dropping_the_client_ends_the_connection() {
    let fake = fake(secured()).await;
    let mut dialled = dialled(&target_of(&fake)).await.unwrap();
    drop(dialled.client);
    soon(dialled.lost.wait()).await;
    visited_once(&fake).await;
}

#[tokio::test]
async fn servers_that_the_server_names_are_not_dialled() {
    let urls = vec!["192.0.2.1:4222"];
    let fake = fake(secured().info("connect_urls", urls)).await;
    let dialled = dialled(&target_of(&fake)).await.unwrap();
    let pool = dialled.client.server_pool().await.unwrap();
    let ports: Vec<_> = pool.iter().map(|server| server.addr.port()).collect();
    assert_eq!(ports, [fake.address().port(), 0]);
    assert!(pool.iter().all(|server| server.addr.host() == "127.0.0.1"));
}
