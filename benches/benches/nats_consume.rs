//! Events read from a durable consumer and acknowledged one by one.
//!
//! The baseline subscribes to the consumer's deliveries in its queue group, makes an envelope of each
//! message that owns what it holds, and publishes `+ACK`. It does not look whose delivery it is, count
//! what is unsettled, tell the server that it still works, remember what was not confirmed, or find the
//! consumer again after a loss. Both prove at the end that the server has what they sent.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use mesh_benches::envelope::{EVENT, id};
use mesh_benches::nats::{Envelope, Ground, headers};
use mesh_benches::race::{Contestant, Lap, Race, Stopwatch};
use mesh_core::port::{Connection, ConsumeOptions};
use mesh_core::topology::{ConsumerRef, DeliverySubject};

const COUNT: u32 = 20_000;

fn main() {
    let ground = Ground::new();
    ground.empty_events();
    fill(&ground);
    let connection = ground.ours("bench");
    let client = ground.theirs();
    #[cfg(feature = "ruststream")]
    let broker = Arc::new(ground.block(rival::connect(ground.url())));
    let mut contestants = vec![
        Contestant::new("ours", || {
            let consumer = ground.new_consumer("n1_bench");
            let lap = ground.block(ours(connection.clone(), consumer));
            ground.settled("n1_bench");
            lap
        }),
        Contestant::new("by hand", || {
            let consumer = ground.new_consumer("n1_hand");
            let lap = ground.block(by_hand(client.clone(), consumer));
            ground.settled("n1_hand");
            lap
        }),
    ];
    #[cfg(feature = "ruststream")]
    contestants.push(Contestant::new("RustStream", || {
        let lap = ground.block(rival::consume(Arc::clone(&broker)));
        ground.settled("n1_rival");
        lap
    }));
    for standing in Race::new("consume and acknowledge", COUNT).run(&mut contestants) {
        println!("{standing}");
    }
}

fn fill(ground: &Ground) {
    let (context, payload) = (ground.controller.clone(), ground.payload.clone());
    ground.block(async move {
        let events = futures_util::stream::iter(0..COUNT).map(|_| async {
            let sent = context.publish_with_headers(EVENT, headers(&id()), payload.clone()).await;
            sent.unwrap().await.unwrap()
        });
        assert_eq!(events.buffer_unordered(256).count().await, COUNT as usize);
    });
}

async fn ours(connection: Connection, consumer: ConsumerRef) -> Lap {
    let streams = Arc::clone(connection.streams().unwrap());
    let watch = Stopwatch::start();
    let mut deliveries = streams.consume(consumer, ConsumeOptions::default()).await.unwrap();
    for _ in 0..COUNT {
        let delivery = deliveries.next().await.unwrap().unwrap();
        black_box(delivery.message());
        delivery.ack().await.unwrap();
    }
    connection.transport().flush(Duration::from_secs(5)).await.unwrap();
    watch.stop()
}

async fn by_hand(client: async_nats::Client, consumer: ConsumerRef) -> Lap {
    let group = consumer.consumer.to_string();
    let subject = DeliverySubject::of(consumer).to_subject().to_string();
    let watch = Stopwatch::start();
    let mut deliveries = client.queue_subscribe(subject, group).await.unwrap();
    for _ in 0..COUNT {
        let mut message = deliveries.next().await.unwrap();
        let ack = message.reply.take().unwrap();
        black_box(Envelope::of(message));
        client.publish(ack, Bytes::from_static(b"+ACK")).await.unwrap();
    }
    client.flush().await.unwrap();
    let lap = watch.stop();
    deliveries.unsubscribe().await.unwrap();
    lap
}

#[cfg(feature = "ruststream")]
mod rival {
    use std::hint::black_box;
    use std::pin::pin;
    use std::sync::Arc;

    use futures_util::StreamExt;
    use mesh_benches::envelope::EVENT;
    use mesh_benches::race::{Lap, Stopwatch};
    use ruststream::{Broker, IncomingMessage, Subscriber};
    use ruststream_nats::{ConnectedNatsBroker, JetStreamSubject, NatsBroker};

    use super::COUNT;

    pub(super) async fn connect(url: String) -> ConnectedNatsBroker {
        NatsBroker::new(url).connect().await.unwrap()
    }

    pub(super) async fn consume(broker: Arc<ConnectedNatsBroker>) -> Lap {
        let subject = JetStreamSubject::new(EVENT, "EVENTS").durable("n1_rival");
        let watch = Stopwatch::start();
        let mut subscriber = broker.subscribe_with(subject).await.unwrap();
        let mut deliveries = pin!(subscriber.stream());
        for _ in 0..COUNT {
            let message = deliveries.next().await.unwrap().unwrap();
            black_box((message.headers(), message.payload()));
            message.ack().await.unwrap();
        }
        broker.client().flush().await.unwrap();
        watch.stop()
    }
}
