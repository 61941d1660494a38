//! Events appended to a stream and confirmed by it, one after another and 256 at a time.
//!
//! The baseline is the client library's own JetStream context, which sends the same headers and waits
//! for the same confirmation. It does not tell a refused publish from one that no stream takes, does
//! not try again, and forgets what it waits for when the connection is lost.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use mesh_benches::envelope::{EVENT, id, message};
use mesh_benches::nats::{Ground, headers};
use mesh_benches::race::{Contestant, Lap, Race, Stopwatch};
use mesh_core::message::PublishId;
use mesh_core::port::{AppendOptions, Streams};
use mesh_core::subject::Subject;

fn main() {
    let ground = Ground::new();
    race(&ground, "append, one by one", 1_000, 1);
    race(&ground, "append, 256 in flight", 20_000, 256);
}

fn race(ground: &Ground, name: &'static str, count: u32, window: usize) {
    let connection = ground.ours("bench");
    let streams = Arc::clone(connection.streams().unwrap());
    let client = ground.theirs();
    let context = ground.block(async { async_nats::jetstream::new(client) });
    #[cfg(feature = "ruststream")]
    let publisher = ground.block(rival::publisher(ground.url()));
    let mut contestants = vec![
        Contestant::new("ours", || {
            ground.empty_events();
            let (streams, payload) = (Arc::clone(&streams), ground.payload.clone());
            ground.block(ours(streams, payload, count, window))
        }),
        Contestant::new("by hand", || {
            ground.empty_events();
            ground.block(by_hand(context.clone(), ground.payload.clone(), count, window))
        }),
    ];
    #[cfg(feature = "ruststream")]
    contestants.push(Contestant::new("RustStream", || {
        ground.empty_events();
        let (publisher, payload) = (publisher.clone(), ground.payload.clone());
        ground.block(rival::append(publisher, payload, count, window))
    }));
    for standing in Race::new(name, count).run(&mut contestants) {
        println!("{standing}");
    }
}

async fn ours(streams: Arc<dyn Streams>, payload: bytes::Bytes, count: u32, window: usize) -> Lap {
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

async fn by_hand(
    context: async_nats::jetstream::Context,
    payload: bytes::Bytes,
    count: u32,
    window: usize,
) -> Lap {
    const MESSAGE_ID: async_nats::HeaderName = async_nats::HeaderName::from_static("Nats-Msg-Id");
    let subject = async_nats::Subject::from_static(EVENT);
    let watch = Stopwatch::start();
    stream::iter(0..count)
        .map(|_| {
            let id = id();
            let mut headers = headers(&id);
            headers.insert(MESSAGE_ID, id);
            let (subject, payload, context) = (subject.clone(), payload.clone(), &context);
            async move {
                let sent = context.publish_with_headers(subject, headers, payload).await.unwrap();
                sent.await.unwrap()
            }
        })
        .buffer_unordered(window)
        .for_each(|ack| {
            assert!(!ack.duplicate);
            std::future::ready(())
        })
        .await;
    watch.stop()
}

#[cfg(feature = "ruststream")]
mod rival {
    use bytes::{Bytes, BytesMut};
    use futures_util::{StreamExt, stream};
    use mesh_benches::envelope::{EVENT, id, rival_headers};
    use mesh_benches::race::{Lap, Stopwatch};
    use ruststream::{Broker, OutgoingMessage, Publisher};
    use ruststream_nats::{JetStreamOptions, JetStreamPublish, JetStreamPublisher, NatsBroker};

    pub(super) async fn publisher(url: String) -> JetStreamPublisher {
        NatsBroker::new(url).connect().await.unwrap().publisher(JetStreamPublish::default())
    }

    pub(super) async fn append(
        publisher: JetStreamPublisher,
        payload: Bytes,
        count: u32,
        window: usize,
    ) -> Lap {
        let watch = Stopwatch::start();
        stream::iter(0..count)
            .map(|_| {
                let id = id();
                let headers = rival_headers(&id);
                let message = OutgoingMessage::produced(EVENT, BytesMut::from(&payload[..]));
                let message = message.with_headers(headers);
                let options =
                    JetStreamOptions { message_id: Some(id), ..JetStreamOptions::default() };
                let publisher = &publisher;
                async move { publisher.publish(message, Some(&options)).await }
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
