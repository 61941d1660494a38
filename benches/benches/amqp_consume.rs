//! Events read from a durable consumer and acknowledged one by one, with a prefetch of 1 and of 50.
//!
//! The baseline is the client library alone: it makes an envelope of each message that owns what it holds,
//! and polls its acknowledgements beside each other. It does not look whether the key is one of the
//! consumer's, or whether the sender is proven, and does not find the queue again after a loss.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, stream};
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use mesh_benches::amqp::{EVENTS, Ground, QUEUE, properties};
use mesh_benches::nats::id;
use mesh_benches::race::{Contestant, Lap, Race, Stopwatch};
use mesh_core::port::{Connection, ConsumeOptions};
use mesh_core::topology::{ConsumerRef, StreamName};

fn main() {
    let ground = Ground::new();
    race(&ground, "consume, prefetch 1", 300, 1);
    race(&ground, "consume, prefetch 50", 5_000, 50);
}

fn race(ground: &Ground, name: &'static str, count: u32, prefetch: u16) {
    let connection = ground.ours();
    let client = Arc::new(ground.theirs());
    let filled = || {
        ground.empty_queue();
        fill(ground, count);
    };
    let mut contestants = vec![
        Contestant::new("ours", || {
            filled();
            let lap = ground.block(ours(connection.clone(), count, prefetch));
            assert_eq!(ground.waiting(), 0);
            lap
        }),
        Contestant::new("by hand", || {
            filled();
            let lap = ground.block(by_hand(Arc::clone(&client), count, prefetch));
            assert_eq!(ground.waiting(), 0);
            lap
        }),
    ];
    for standing in Race::new(name, count).run(&mut contestants) {
        println!("{standing}");
    }
}

fn fill(ground: &Ground, count: u32) {
    let (client, payload) = (ground.theirs(), ground.payload.clone());
    ground.block(async move {
        let channel = client.create_channel().await.unwrap();
        channel.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
        let (exchange, key) = EVENTS;
        stream::iter(0..count)
            .map(|_| {
                let (channel, payload, properties) = (&channel, &payload, properties(&id()));
                async move {
                    let options = BasicPublishOptions::default();
                    let sent = channel.basic_publish(
                        exchange.into(),
                        key.into(),
                        options,
                        payload,
                        properties,
                    );
                    sent.await.unwrap().await.unwrap()
                }
            })
            .buffer_unordered(256)
            .for_each(|_| std::future::ready(()))
            .await;
    });
}

async fn ours(connection: Connection, count: u32, prefetch: u16) -> Lap {
    let streams = Arc::clone(connection.streams().unwrap());
    let consumer = ConsumerRef::new(StreamName::Events, "n1_bench".parse().unwrap());
    let in_flight = NonZeroUsize::new(usize::from(prefetch)).unwrap();
    let options = ConsumeOptions { in_flight, ..ConsumeOptions::default() };
    let watch = Stopwatch::start();
    let mut deliveries = streams.consume(consumer, options).await.unwrap();
    for _ in 0..count {
        let delivery = deliveries.next().await.unwrap().unwrap();
        black_box(delivery.message());
        delivery.ack().await.unwrap();
    }
    connection.transport().flush(Duration::from_secs(5)).await.unwrap();
    watch.stop()
}

/// What arrived, as a program without our library would have it.
struct Envelope {
    _key: String,
    _headers: Vec<(String, String)>,
    _payload: Bytes,
}

impl Envelope {
    fn of(delivery: &mut lapin::message::Delivery) -> Self {
        let table = delivery.properties.headers().as_ref().map(FieldTable::inner);
        let headers = table.into_iter().flatten().filter_map(|(name, value)| match value {
            AMQPValue::LongString(value) => Some((name.to_string(), value.to_string())),
            _ => None,
        });
        Self {
            _headers: headers.collect(),
            _key: delivery.routing_key.to_string(),
            _payload: std::mem::take(&mut delivery.data).into(),
        }
    }
}

async fn by_hand(client: Arc<lapin::Connection>, count: u32, prefetch: u16) -> Lap {
    let watch = Stopwatch::start();
    let channel = client.create_channel().await.unwrap();
    channel.basic_qos(prefetch, BasicQosOptions::default()).await.unwrap();
    let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
    let mut deliveries =
        channel.basic_consume(QUEUE.into(), "".into(), options, none).await.unwrap();
    let mut acks = FuturesUnordered::new();
    let mut read = 0;
    while read < count {
        tokio::select! {
            delivery = deliveries.next() => {
                let mut delivery = delivery.unwrap().unwrap();
                black_box(Envelope::of(&mut delivery));
                let acker = delivery.acker;
                acks.push(async move { acker.ack(BasicAckOptions::default()).await.unwrap() });
                read += 1;
            }
            Some(_) = acks.next(), if !acks.is_empty() => {}
        }
    }
    while acks.next().await.is_some() {}
    // The answer comes after the acknowledgements have been handled.
    channel.basic_qos(prefetch, BasicQosOptions::default()).await.unwrap();
    let lap = watch.stop();
    channel.close(200, "".into()).await.unwrap();
    lap
}
