//! Slow readers: bounded, and told what they lost; a durable one loses nothing and burns no attempt.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use mesh_core::port::{ReceiveError, SubscribeOptions, Subscription};
use mesh_core::topology::ConsumerRules;
use mesh_testkit::fixtures::{filter, message, module};
use mesh_testkit::servers::nats::{NatsServer, RawNats};
use mesh_transport_nats::{NatsOptions, connect};

use crate::bed;

/// Buffers of readers, and their pauses in milliseconds at the beginning.
const READERS: &[(usize, u64)] = &[(1, 5), (16, 2), (1024, 1), (1024, 0)];
const SUBJECT: &str = "mesh.tools.mail.open";

/// What a reader had, and was told of.
#[derive(Debug, Default)]
struct Had {
    read: u64,
    lost: u64,
    /// How often it was told that something may be missing, without a number.
    interrupted: u64,
}

/// Reads until all is accounted for, or nothing more comes to one who was told that it is not.
async fn read(mut heard: Subscription, pause: Duration, flood: u64) -> Had {
    let mut had = Had::default();
    while had.read + had.lost < flood {
        let next = tokio::time::timeout(Duration::from_secs(5), heard.next()).await;
        match next {
            Ok(Some(Ok(_))) => had.read += 1,
            Ok(Some(Err(ReceiveError::Lagged { lost }))) => had.lost += lost,
            Ok(Some(Err(ReceiveError::Interrupted))) => had.interrupted += 1,
            Err(_) if had.interrupted > 0 => break,
            other => panic!("{other:?} after {had:?}"),
        }
        if had.read < 200 {
            tokio::time::sleep(pause).await;
        }
    }
    had
}

/// Publishes the flood as fast as the server takes it, from a thread of its own.
fn flood(server: &NatsServer, count: u64) -> std::thread::JoinHandle<Duration> {
    let address = server.address();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let mut client = RawNats::plain(address).await.unwrap();
            client.login(bed::USER, bed::PASSWORD).await.unwrap();
            let began = Instant::now();
            let lines = format!("PUB {SUBJECT} 1\r\nx\r\n").repeat(1000);
            for _ in 0..count / 1000 {
                client.send(&lines).await.unwrap();
            }
            client.settle().await.unwrap();
            began.elapsed()
        })
    })
}

/// How often readers with these buffers and pauses were told that something is missing, and not how much.
async fn slow_readers(count: u64, readers: &[(usize, u64)]) -> u64 {
    let mut interrupted = 0;
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    // The client's own pings are to leave a machine time that is busy with the flood.
    let target = bed::target(server.address(), module("n1", "mail"), bed::USER);
    let connection = connect(target, NatsOptions::default()).await.unwrap();
    let mut reading = Vec::new();
    for &(buffer, pause) in readers {
        let room = NonZeroUsize::new(buffer).unwrap();
        let options = SubscribeOptions { buffer: room, ..<_>::default() };
        let heard = connection.transport().subscribe(filter(SUBJECT), options).await.unwrap();
        reading.push((buffer, tokio::spawn(read(heard, Duration::from_millis(pause), count))));
    }
    let flooding = flood(&server, count);
    for (buffer, reading) in reading {
        let had = reading.await.unwrap();
        println!("{count} published, room for {buffer}: {had:?}");
        interrupted += had.interrupted;
        assert!(had.interrupted > 0 || had.read + had.lost == count, "{had:?}");
        assert!(had.read + had.lost <= count, "{had:?}");
    }
    let took = tokio::task::spawn_blocking(|| flooding.join().unwrap()).await.unwrap();
    println!("the flood itself took {took:.1?}");
    // The connection has kept up: it answers.
    connection.transport().publish(message("a.b", ""), <_>::default()).await.unwrap();
    interrupted
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_slow_reader_reads_and_what_it_is_told_add_up_under_a_flood() {
    // Where others keep the processors busy, it may be told that it is not known how many.
    slow_readers(300_000, READERS).await;
}

#[tokio::test(flavor = "current_thread")]
async fn what_a_slow_reader_reads_and_what_it_is_told_add_up_on_one_thread() {
    assert_eq!(slow_readers(300_000, READERS).await, 0, "each message is accounted for");
    // One alone gets all that one turn of the client brings.
    assert_eq!(slow_readers(1_000_000, &[(1024, 0)]).await, 0, "each message is accounted for");
}

#[tokio::test(flavor = "current_thread")]
async fn what_the_client_throws_away_is_told() {
    let server = NatsServer::launch(bed::config("")).await.unwrap();
    // No room in the client, so that it has to throw away what one turn of it reads.
    let subscription_capacity = NonZeroUsize::new(16).unwrap();
    let options = NatsOptions { subscription_capacity, ..NatsOptions::default() };
    let target = bed::target(server.address(), module("n1", "mail"), bed::USER);
    let connection = connect(target, options).await.unwrap();
    let mut heard =
        connection.transport().subscribe(filter(SUBJECT), <_>::default()).await.unwrap();
    let flooding = flood(&server, 300_000);
    let mut had = Had::default();
    while had.interrupted == 0 {
        match heard.next().await.unwrap() {
            Ok(_) => had.read += 1,
            Err(ReceiveError::Lagged { lost }) => had.lost += lost,
            Err(ReceiveError::Interrupted) => had.interrupted += 1,
            Err(other) => panic!("{other}"),
        }
    }
    println!("told after {had:?}");
    tokio::task::spawn_blocking(|| flooding.join().unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_durable_reader_burns_no_attempt() {
    const EVENTS: u32 = 40;
    let rules = ConsumerRules { max_deliver: Some(2), ..bed::rules(Duration::from_millis(1500)) };
    let server = bed::server_with_mail(rules).await;
    let connection = bed::dial(server.address(), module("n1", "mail")).await;
    let streams = connection.streams().unwrap();
    let mut events = bed::consume(&connection, bed::mail(), bed::reading(rules, 1)).await;
    for number in 0..EVENTS {
        let id = format!("event-{number}");
        streams.append(bed::event(&id), bed::appending(&id, bed::LONG)).await.unwrap();
    }
    let began = Instant::now();
    for number in 0..EVENTS {
        let delivery = events.next().await.unwrap().unwrap();
        assert_eq!(bed::id_of(delivery.message()), format!("event-{number}"));
        assert_eq!(delivery.info().attempt, 1, "event {number} after {:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(150)).await;
        delivery.ack().await.unwrap();
    }
    let waited = began.elapsed();
    println!("{EVENTS} events, the last after {waited:.1?}, each at its first attempt");
    assert!(waited > rules.ack_wait * 3);
    assert_eq!(bed::owed(server.address(), &bed::mail()).await, 0);
}
