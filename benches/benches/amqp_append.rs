//! Events appended and confirmed, one after another and 256 at a time.
//!
//! The baseline is the client library alone: one channel in confirm mode, every publish and confirmation
//! polled beside the others. It does not know which message a refusal was about, does not try again, and
//! loses what it waits for when the connection is lost.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::{Channel, Confirmation};
use mesh_benches::amqp::{EVENTS, Ground, properties};
use mesh_benches::nats::{id, message};
use mesh_benches::race::{Contestant, Lap, Race, Stopwatch};
use mesh_core::message::PublishId;
use mesh_core::port::{AppendOptions, Streams};
use mesh_core::subject::Subject;

fn main() {
    let ground = Ground::new();
    race(&ground, "append, one by one", 300, 1);
    race(&ground, "append, 256 in flight", 5_000, 256);
}

fn race(ground: &Ground, name: &'static str, count: u32, window: usize) {
    let connection = ground.ours();
    let streams = Arc::clone(connection.streams().unwrap());
    let client = ground.theirs();
    let channel = ground.runtime.block_on(async {
        let channel = client.create_channel().await.unwrap();
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        channel
    });
    let mut contestants = vec![
        Contestant::new("ours", || {
            ground.empty_queue();
            let (streams, payload) = (Arc::clone(&streams), ground.payload.clone());
            ground.block(ours(streams, payload, count, window))
        }),
        Contestant::new("by hand", || {
            ground.empty_queue();
            ground.block(by_hand(channel.clone(), ground.payload.clone(), count, window))
        }),
    ];
    for standing in Race::new(name, count).run(&mut contestants) {
        println!("{standing}");
    }
    assert_eq!(ground.waiting(), count);
}

async fn ours(streams: Arc<dyn Streams>, payload: bytes::Bytes, count: u32, window: usize) -> Lap {
    let subject = Subject::new("mesh.events.bench.made").unwrap();
    let watch = Stopwatch::start();
    stream::iter(0..count)
        .map(|_| {
            let id = id();
            let message = message(&subject, &id, &payload);
            let id = Some(PublishId::new(id).unwrap());
            streams.append(message, AppendOptions { id, ..AppendOptions::default() })
        })
        .buffer_unordered(window)
        .for_each(|appended| {
            assert!(!appended.unwrap().duplicate);
            std::future::ready(())
        })
        .await;
    watch.stop()
}

async fn by_hand(channel: Channel, payload: bytes::Bytes, count: u32, window: usize) -> Lap {
    let (exchange, key) = EVENTS;
    let watch = Stopwatch::start();
    stream::iter(0..count)
        .map(|_| {
            let (channel, payload, properties) = (&channel, payload.clone(), properties(&id()));
            async move {
                let options = BasicPublishOptions::default();
                let sent = channel.basic_publish(
                    exchange.into(),
                    key.into(),
                    options,
                    &payload,
                    properties,
                );
                sent.await.unwrap().await.unwrap()
            }
        })
        .buffer_unordered(window)
        .for_each(|confirmed| {
            assert!(matches!(confirmed, Confirmation::Ack(None)));
            std::future::ready(())
        })
        .await;
    watch.stop()
}
