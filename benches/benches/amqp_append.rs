//! Events published to a quorum queue and confirmed by it, one after another and 256 at a time.
//!
//! The baseline publishes on one channel in confirm mode, polls many publishes at once, and waits for
//! each one's confirmation; it sends the same headers, sender and id, and asks that it be written to disk.
//! It does not keep a refusal from harming its neighbours, try again, or say which message was refused.
//! RustStream's publisher can't say who sends it.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use lapin::options::BasicPublishOptions;
use mesh_benches::amqp::{EVENTS, Ground, Hand, properties};
use mesh_benches::envelope::{EVENT, id, message};
use mesh_benches::race::{Contestant, Lap, Race, Stopwatch};
use mesh_core::message::PublishId;
use mesh_core::port::{AppendOptions, Streams};
use mesh_core::subject::Subject;

const QUEUE: &str = "n1.bench.events";

fn main() {
    let ground = Ground::new();
    ground.exchange(EVENTS.0);
    ground.queue(QUEUE, "quorum", EVENTS);
    race(&ground, "append, one by one", 300, 1);
    race(&ground, "append, 256 in flight", 5_000, 256);
}

fn race(ground: &Ground, name: &'static str, count: u32, window: usize) {
    let connection = ground.ours("bench");
    let streams = Arc::clone(connection.streams().unwrap());
    let hand = Arc::new(ground.theirs("hand"));
    #[cfg(feature = "ruststream")]
    let publisher = ground.block(rival::publisher(ground.url("n1.rival")));
    let mut contestants = vec![
        Contestant::new("ours", || {
            ground.purge(QUEUE);
            let (streams, payload) = (Arc::clone(&streams), ground.payload.clone());
            ground.block(ours(streams, payload, count, window))
        }),
        Contestant::new("by hand", || {
            ground.purge(QUEUE);
            ground.block(by_hand(Arc::clone(&hand), ground.payload.clone(), count, window))
        }),
    ];
    #[cfg(feature = "ruststream")]
    contestants.push(Contestant::new("RustStream", || {
        ground.purge(QUEUE);
        let (publisher, payload) = (publisher.clone(), ground.payload.clone());
        ground.block(rival::append(publisher, payload, count, window))
    }));
    for standing in Race::new(name, count).run(&mut contestants) {
        println!("{standing}");
    }
}

async fn ours(streams: Arc<dyn Streams>, payload: Bytes, count: u32, window: usize) -> Lap {
    let subject = Subject::new(EVENT).unwrap();
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

async fn by_hand(hand: Arc<Hand>, payload: Bytes, count: u32, window: usize) -> Lap {
    let watch = Stopwatch::start();
    stream::iter(0..count)
        .map(|_| {
            let id = id();
            let properties = properties(&hand.user, &id, true).with_message_id(id.into());
            let (channel, payload) = (&hand.publishes, payload.clone());
            async move {
                let (exchange, key) = (EVENTS.0.into(), EVENTS.1.into());
                let options = BasicPublishOptions::default();
                let sent = channel.basic_publish(exchange, key, options, &payload, properties);
                sent.await.unwrap().await.unwrap()
            }
        })
        .buffer_unordered(window)
        .for_each(|confirmation| {
            assert!(confirmation.is_ack());
            std::future::ready(())
        })
        .await;
    watch.stop()
}

#[cfg(feature = "ruststream")]
mod rival {
    use bytes::Bytes;
    use futures_util::{StreamExt, stream};
    use mesh_benches::amqp::EVENTS;
    use mesh_benches::envelope::{id, rival_headers};
    use mesh_benches::race::{Lap, Stopwatch};
    use ruststream::{Broker, OutgoingMessage, Publisher};
    use ruststream_lapin::{ConfirmsPublisher, LapinBroker, LapinPublish};

    pub(super) async fn publisher(url: String) -> ConfirmsPublisher {
        let broker = LapinBroker::new(url).connect().await.unwrap();
        broker.publisher(LapinPublish::default().exchange(EVENTS.0).confirms())
    }

    pub(super) async fn append(
        publisher: ConfirmsPublisher,
        payload: Bytes,
        count: u32,
        window: usize,
    ) -> Lap {
        let watch = Stopwatch::start();
        stream::iter(0..count)
            .map(|_| {
                let id = id();
                let mut headers = rival_headers(&id);
                headers.insert("message-id", id);
                let message = OutgoingMessage::new(EVENTS.1, &payload).with_headers(headers);
                let publisher = &publisher;
                async move { publisher.publish(message, None).await }
            })
            .buffer_unordered(window)
            .for_each(|published| {
                published.unwrap();
                std::future::ready(())
            })
            .await;
        watch.stop()
    }
}
