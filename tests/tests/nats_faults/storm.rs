//! All clients come back at once after a restart (A13), over TLS, each with a password to check.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::join_all;
use mesh_core::port::Connection;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_testkit::servers::{Certificate, Proxy};
use mesh_transport_nats::{NatsOptions, connect};
use tokio::net::TcpListener;

use crate::bed::{self, States};

const CLIENTS: usize = 60;
/// All are in within this after the restart, on a machine of two processors that is busy.
const BOUND: Duration = Duration::from_secs(30);
/// The hash of the tests' password, bcrypt of cost 4.
const HASH: &str = "$2a$04$Wdjvp73gt3EBNc5McszRoObuX2x6H5wUfvCohB/0iv9GO.tLTbx/y";

fn config(certificate: Certificate) -> NatsConfig {
    let mut users = String::new();
    for number in 0..CLIENTS {
        let _ = writeln!(users, "{{ user: \"m{number}\", password: \"{HASH}\" }}");
    }
    NatsConfig::new()
        .tls(certificate)
        .with(format!("authorization {{ timeout: 10, users: [ {users} ] }}"))
}

/// Connects them all, a few at a time: a first attempt that fails is not made again.
async fn dial_all(server: &NatsServer, proxy: &Proxy) -> Vec<Connection> {
    let pin = server.fingerprint().unwrap();
    let targets = (0..CLIENTS)
        .map(|number| bed::pinned(proxy.address(), &format!("m{number}"), bed::PASSWORD, &[&pin]));
    let dialling = targets.map(|target| connect(target, NatsOptions::default()));
    let clients = futures_util::stream::iter(dialling).buffer_unordered(4);
    clients.map(Result::unwrap).collect().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_clients_are_all_back_in_time_after_a_restart() {
    let server = NatsServer::launch(config(Certificate::local().unwrap())).await.unwrap();
    let proxy = Proxy::before(server.address()).await.unwrap();
    let began = Instant::now();
    let clients = dial_all(&server, &proxy).await;
    println!("{CLIENTS} clients were in after {:.1?}", began.elapsed());
    let states: Vec<_> = clients.iter().map(States::of).collect();

    server.restart().await.unwrap();
    let began = Instant::now();
    let back = states.iter().map(|states| async {
        states.mended().await;
        began.elapsed()
    });
    let mut back = join_all(back).await;
    back.sort();
    let (first, median, last) = (back[0], back[CLIENTS / 2], back[CLIENTS - 1]);
    println!("after the restart: the first {first:.1?}, half {median:.1?}, all {last:.1?}");
    assert!(last < BOUND, "{last:?}");
    let attempts = proxy.traffic().connections;
    println!("{attempts} connections were opened in all");
    bed::connections(&server, CLIENTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_lost_the_server_together_do_not_come_back_together() {
    let server = NatsServer::launch(config(Certificate::local().unwrap())).await.unwrap();
    let proxy = Proxy::before(server.address()).await.unwrap();
    let clients = dial_all(&server, &proxy).await;
    // From here on whoever comes is only counted.
    let counter = TcpListener::bind("127.0.0.1:0").await.unwrap();
    proxy.lead_to(counter.local_addr().unwrap());
    proxy.cut().await;
    let began = Instant::now();
    let mut arrivals = Vec::new();
    while arrivals.len() < 5 * CLIENTS {
        let (visitor, _) = counter.accept().await.unwrap();
        arrivals.push(began.elapsed());
        drop(visitor);
    }
    let took = began.elapsed();
    // Pauses that were all the same would bring them in five crowds.
    let windows: BTreeSet<_> = arrivals.iter().map(|at| at.as_millis() / 50).collect();
    println!("{} attempts in {took:.1?}, in {} windows of 50 ms", 5 * CLIENTS, windows.len());
    assert!(windows.len() >= 12, "{arrivals:?}");
    // With pauses of up to 100, 200, 400, 800 and 1600 ms nobody is at a fifth attempt so soon.
    assert!(took > Duration::from_millis(500), "{took:?}");
    drop(clients);
}
