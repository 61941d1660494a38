//! Connections that end after any number of bytes: in a handshake, in a line, in a message.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use mesh_core::port::ErrorKind;
use mesh_testkit::fixtures::module;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_testkit::servers::{Certificate, Proxy};
use mesh_transport_nats::{NatsOptions, connect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::bed;

/// How many bytes a connection lets through to the client, and to the server.
#[derive(Clone)]
struct Limits(Arc<[AtomicUsize; 2]>);

impl Limits {
    fn none() -> Self {
        Self(Arc::new([AtomicUsize::new(usize::MAX), AtomicUsize::new(usize::MAX)]))
    }

    fn set(&self, to_client: usize, to_server: usize) {
        self.0[0].store(to_client, Ordering::Relaxed);
        self.0[1].store(to_server, Ordering::Relaxed);
    }
}

/// A way to the server whose connections end at those limits.
async fn way(server: SocketAddr, limits: Limits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let [to_client, to_server] = [0, 1].map(|way| limits.0[way].load(Ordering::Relaxed));
            tokio::spawn(async move {
                let Ok(server) = TcpStream::connect(server).await else { return };
                let ((from_client, client), (from_server, server)) =
                    (client.into_split(), server.into_split());
                tokio::select! {
                    () = pump(from_server, client, to_client) => {}
                    () = pump(from_client, server, to_server) => {}
                }
            });
        }
    });
    address
}

async fn pump(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, most: usize) {
    let (mut sent, mut buffer) = (0, [0; 512]);
    while sent < most {
        let read = from.read(&mut buffer).await.unwrap_or(0).min(most - sent);
        if read == 0 || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
        sent += read;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_ends_anywhere_while_it_is_made_is_an_error_at_once() {
    let config = NatsConfig::new().tls(Certificate::local().unwrap()).with(format!(
        "accounts {{ MESH {{ users: [ {{ user: mail, password: \"{}\" }} ] }} }}",
        bed::PASSWORD
    ));
    let server = NatsServer::launch(config).await.unwrap();
    let pin = server.fingerprint().unwrap();
    let limits = Limits::none();
    let address = way(server.address(), limits.clone()).await;
    // What hangs is told by a test that takes longer.
    let options = NatsOptions { connect_timeout: Duration::from_secs(60), ..bed::quick() };
    for to_server in [false, true] {
        let (mut errors, mut bytes) = (0, 0);
        loop {
            let limit = |here: bool| if here { bytes } else { usize::MAX };
            limits.set(limit(!to_server), limit(to_server));
            let target = bed::pinned(address, "mail", bed::PASSWORD, &[&pin]);
            let trying = connect(target, options.clone());
            let tried = tokio::time::timeout(Duration::from_secs(20), trying).await;
            match tried.unwrap_or_else(|_| panic!("it hangs after {bytes} bytes")) {
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Disconnected, "{bytes}: {error}"),
            }
            errors += 1;
            bytes += 61;
        }
        println!("{errors} ends in a handshake; {bytes} bytes are enough");
        assert!(errors > 10);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_all_end_in_the_middle_of_a_message_lose_nothing_and_store_nothing_twice()
{
    const EVENTS: usize = 50;
    let rules = bed::rules(Duration::from_secs(1));
    let server = bed::server_with_mail(rules).await;
    let limits = Limits::none();
    let proxy = Proxy::before(way(server.address(), limits.clone()).await).await.unwrap();
    let options = NatsOptions {
        reconnect_min: Duration::from_millis(1),
        reconnect_max: Duration::from_millis(20),
        ..bed::quick()
    };
    let target = bed::target(proxy.address(), module("n1", "mail"), bed::USER);
    let connection = connect(target, options).await.unwrap();
    let mut events = bed::consume(&connection, bed::mail(), bed::reading(rules, 100)).await;
    let streams = connection.streams().unwrap();
    let mut stored = 0;
    for (to_client, to_server) in
        [(4001, usize::MAX), (5003, usize::MAX), (usize::MAX, 6007), (usize::MAX, 7001)]
    {
        limits.set(to_client, to_server);
        proxy.cut().await;
        let ids: Vec<_> = (stored..stored + EVENTS).map(|number| number.to_string()).collect();
        stored += EVENTS;
        let appending = futures_util::stream::iter(&ids).for_each_concurrent(5, |id| async move {
            let options = bed::appending(id, Duration::from_secs(60));
            let appended = streams.append(bed::event(id), options).await.unwrap();
            assert!(!appended.duplicate, "{id}: another try of one's own is no duplicate");
        });
        let reading = async {
            let mut missing: std::collections::HashSet<_> = ids.iter().cloned().collect();
            while !missing.is_empty() {
                let delivery = events.next().await.unwrap().unwrap();
                missing.remove(&bed::id_of(delivery.message()));
                // One whose connection ends is said again in the next.
                let _ = delivery.ack().await;
            }
        };
        let both = async { tokio::join!(appending, reading) };
        let done = tokio::time::timeout(Duration::from_secs(60), both).await;
        assert!(done.is_ok(), "not within a minute with {to_client} and {to_server} bytes");
    }
    println!("{} connections ended at their limits", proxy.traffic().connections);
    limits.set(usize::MAX, usize::MAX);
    assert_eq!(bed::stored(server.address()).await, stored as u64);
}
