//! Events read from a quorum queue and acknowledged one by one, with one and with 50 of them out.
//!
//! The baseline reads and sends acknowledgements at once, without waiting for one before it goes on, and
//! makes an envelope of each delivery that owns what it holds. It does not look whose delivery it is,
//! count attempts and what is unsettled, remember what was not settled, or find the queue again after a
//! loss. Both prove at the end that the broker has what they sent; RustStream has no means to.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, stream};
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
};
use lapin::types::FieldTable;
use mesh_benches::amqp::{EVENTS, Envelope, Ground, Hand, properties};
use mesh_benches::envelope::id;
use mesh_benches::race::{Contestant, Lap, Race, Stopwatch};
use mesh_core::port::{Connection, ConsumeOptions};
use mesh_core::topology::{ConsumerRef, StreamName};

const QUEUE: &str = "n1.bench.events";

fn main() {
    let ground = Ground::new();
    ground.exchange(EVENTS.0);
    ground.queue(QUEUE, "quorum", EVENTS);
    race(&ground, "consume, prefetch 1", 300, 1);
    race(&ground, "consume, prefetch 50", 5_000, 50);
}

fn race(ground: &Ground, name: &'static str, count: u32, prefetch: u16) {
    let connection = ground.ours("bench");
    let filler = Arc::new(ground.theirs("filler"));
    let hand = Arc::new(ground.theirs("hand"));
    #[cfg(feature = "ruststream")]
    let broker = Arc::new(ground.block(rival::connect(ground.url("n1.rival"))));
    let round = |lap: &dyn Fn() -> Lap| {
        ground.block(fill(Arc::clone(&filler), ground.payload.clone(), count));
        let lap = lap();
        settled(ground);
        lap
    };
    let mut contestants = vec![
        Contestant::new("ours", || {
            round(&|| ground.block(ours(connection.clone(), count, prefetch)))
        }),
        Contestant::new("by hand", || {
            round(&|| ground.block(by_hand(Arc::clone(&hand), count, prefetch)))
        }),
    ];
    #[cfg(feature = "ruststream")]
    contestants.push(Contestant::new("RustStream", || {
        round(&|| ground.block(rival::consume(Arc::clone(&broker), count, prefetch)))
    }));
    for standing in Race::new(name, count).run(&mut contestants) {
        println!("{standing}");
    }
}

async fn fill(filler: Arc<Hand>, payload: bytes::Bytes, count: u32) {
    let events = stream::iter(0..count).map(|_| async {
        let properties = properties(&filler.user, &id(), true);
        let (exchange, key) = (EVENTS.0.into(), EVENTS.1.into());
        let options = BasicPublishOptions::default();
        let sent = filler.publishes.basic_publish(exchange, key, options, &payload, properties);
        assert!(sent.await.unwrap().await.unwrap().is_ack());
    });
    assert_eq!(events.buffer_unordered(256).count().await, count as usize);
}

/// Once nobody reads, what was not settled is there again.
fn settled(ground: &Ground) {
    let end = Instant::now() + Duration::from_secs(10);
    while ground.readers(QUEUE) > 0 {
        assert!(Instant::now() < end, "somebody reads {QUEUE} still");
    }
    assert_eq!(ground.count(QUEUE), 0);
}

async fn ours(connection: Connection, count: u32, prefetch: u16) -> Lap {
    let consumer = ConsumerRef::new(StreamName::Events, "n1_bench".parse().unwrap());
    let in_flight = NonZeroUsize::new(prefetch.into()).unwrap();
    let options = ConsumeOptions { in_flight, ..ConsumeOptions::default() };
    let streams = Arc::clone(connection.streams().unwrap());
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

async fn by_hand(hand: Arc<Hand>, count: u32, prefetch: u16) -> Lap {
    let channel = &hand.reads;
    let watch = Stopwatch::start();
    channel.basic_qos(prefetch, BasicQosOptions::default()).await.unwrap();
    let (options, arguments) = (BasicConsumeOptions::default(), FieldTable::default());
    let mut deliveries =
        channel.basic_consume(QUEUE.into(), "".into(), options, arguments).await.unwrap();
    let mut acks = FuturesUnordered::new();
    let mut read = 0;
    while read < count {
        tokio::select! {
            biased;
            delivery = deliveries.next() => {
                let delivery = delivery.unwrap().unwrap();
                read += 1;
                let acker = delivery.acker.clone();
                black_box(Envelope::of(delivery));
                acks.push(async move { acker.ack(BasicAckOptions::default()).await });
            }
            Some(acked) = acks.next() => assert!(acked.unwrap()),
        }
    }
    while let Some(acked) = acks.next().await {
        assert!(acked.unwrap());
    }
    // The broker takes what comes on a channel one after the other.
    channel.basic_qos(prefetch, BasicQosOptions::default()).await.unwrap();
    let lap = watch.stop();
    channel.basic_cancel(deliveries.tag(), BasicCancelOptions::default()).await.unwrap();
    lap
}

#[cfg(feature = "ruststream")]
mod rival {
    use std::hint::black_box;
    use std::num::NonZeroU16;
    use std::pin::pin;
    use std::sync::Arc;

    use futures_util::StreamExt;
    use mesh_benches::race::{Lap, Stopwatch};
    use ruststream::{Broker, IncomingMessage, Subscriber};
    use ruststream_lapin::{ConnectedLapinBroker, LapinBroker, RabbitQuorumQueue};

    use super::QUEUE;

    pub(super) async fn connect(url: String) -> ConnectedLapinBroker {
        LapinBroker::new(url).connect().await.unwrap()
    }

    pub(super) async fn consume(
        broker: Arc<ConnectedLapinBroker>,
        count: u32,
        prefetch: u16,
    ) -> Lap {
        let queue = RabbitQuorumQueue::new(QUEUE).prefetch(NonZeroU16::new(prefetch).unwrap());
        let watch = Stopwatch::start();
        let mut subscriber = broker.subscribe(queue).await.unwrap();
        let mut deliveries = pin!(subscriber.stream());
        for _ in 0..count {
            let message = deliveries.next().await.unwrap().unwrap();
            black_box((message.headers(), message.payload()));
            message.ack().await.unwrap();
        }
        watch.stop()
    }
}
