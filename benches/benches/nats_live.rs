//! Live messages from one publisher to ten subscribers, each with a connection of its own. A lap is
//! over when all ten have read all of it; an item is one delivery.
//!
//! The baseline publishes with the client library and flushes, which writes to the socket and waits for
//! no word from the server: whether it may publish there it does not learn. Ours returns from each
//! publish when the server has handled it. One by one, the second baseline learns so too, by a message
//! to itself behind each publish.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use mesh_benches::envelope::{id, message};
use mesh_benches::nats::{Envelope, Ground, headers};
use mesh_benches::race::{Contestant, Lap, Race, Stopwatch};
use mesh_core::port::{Connection, PublishOptions, SubscribeOptions, Subscription, Transport};
use mesh_core::subject::{Filter, Subject};
use tokio::task::JoinSet;

const SUBJECT: &str = "mesh.control.n1.alive";
const READERS: u32 = 10;

fn main() {
    let ground = Ground::new();
    race(&ground, "live, one by one, 1 to 10", 1_000, 1);
    race(&ground, "live, 64 together, 1 to 10", 10_000, 64);
}

fn race(ground: &Ground, name: &'static str, count: u32, together: usize) {
    let publisher = ground.ours("bench");
    let readers: Vec<_> = (0..READERS).map(|n| ground.ours(&format!("r{n}"))).collect();
    let client = ground.theirs();
    let their_readers: Vec<_> = (0..READERS).map(|_| ground.theirs()).collect();
    let payload = &ground.payload;
    let hand = |proven| {
        let (client, readers, payload) = (client.clone(), their_readers.clone(), payload.clone());
        move || {
            let (client, readers, payload) = (client.clone(), readers.clone(), payload.clone());
            ground.block(by_hand(client, readers, payload, count, together, proven))
        }
    };
    let mut contestants = vec![
        Contestant::new("ours", || {
            let transport = Arc::clone(publisher.transport());
            ground.block(ours(transport, readers.clone(), payload.clone(), count, together))
        }),
        Contestant::new("by hand", hand(false)),
    ];
    if together == 1 {
        contestants.push(Contestant::new("by hand, proven", hand(true)));
    }
    for standing in Race::new(name, count * READERS).run(&mut contestants) {
        println!("{standing}");
    }
}

async fn ours(
    transport: Arc<dyn Transport>,
    readers: Vec<Connection>,
    payload: Bytes,
    count: u32,
    together: usize,
) -> Lap {
    let mut subscriptions = Vec::new();
    for reader in &readers {
        let buffer = NonZeroUsize::new(65_536).unwrap();
        let options = SubscribeOptions { buffer, ..SubscribeOptions::default() };
        let filter = Filter::new(SUBJECT).unwrap();
        subscriptions.push(reader.transport().subscribe(filter, options).await.unwrap());
    }
    let watch = Stopwatch::start();
    let mut reading = JoinSet::new();
    for mut subscription in subscriptions {
        reading.spawn(async move {
            read(&mut subscription, count).await;
            subscription
        });
    }
    let subject = Subject::new(SUBJECT).unwrap();
    stream::iter(0..count)
        .map(|_| {
            let message = message(&subject, &id(), &payload);
            transport.publish(message, PublishOptions::default())
        })
        .buffer_unordered(together)
        .for_each(|published| {
            published.unwrap();
            std::future::ready(())
        })
        .await;
    let _subscriptions = reading.join_all().await;
    watch.stop()
}

async fn read(subscription: &mut Subscription, count: u32) {
    for _ in 0..count {
        black_box(subscription.next().await.unwrap().unwrap());
    }
}

async fn by_hand(
    client: async_nats::Client,
    readers: Vec<async_nats::Client>,
    payload: Bytes,
    count: u32,
    together: usize,
    proven: bool,
) -> Lap {
    let mut subscriptions = Vec::new();
    for reader in &readers {
        subscriptions.push(reader.subscribe(SUBJECT).await.unwrap());
        proof(reader).await;
    }
    let mut echoes = client.subscribe("_INBOX.module.n1.echo.>").await.unwrap();
    let watch = Stopwatch::start();
    let mut reading = JoinSet::new();
    for mut subscription in subscriptions {
        reading.spawn(async move {
            for _ in 0..count {
                black_box(Envelope::of(subscription.next().await.unwrap()));
            }
            subscription
        });
    }
    let subject = async_nats::Subject::from_static(SUBJECT);
    let mut left = count as usize;
    while left > 0 {
        let batch = left.min(together);
        for _ in 0..batch {
            let headers = headers(&id());
            let sent = client.publish_with_headers(subject.clone(), headers, payload.clone());
            sent.await.unwrap();
        }
        left -= batch;
        if proven {
            let echo = async_nats::Subject::from_static("_INBOX.module.n1.echo.1");
            client.publish(echo, Bytes::new()).await.unwrap();
            echoes.next().await.unwrap();
        } else {
            client.flush().await.unwrap();
        }
    }
    let _subscriptions = reading.join_all().await;
    watch.stop()
}

/// Returns when the server has handled what this client sent.
async fn proof(client: &async_nats::Client) {
    let inbox = client.new_inbox();
    let mut echo = client.subscribe(inbox.clone()).await.unwrap();
    client.publish(inbox, Bytes::new()).await.unwrap();
    echo.next().await.unwrap();
}
