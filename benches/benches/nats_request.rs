//! Questions and answers of 1 KiB, one after another and 64 at a time.
//!
//! `ask` compares the asker alone: all ask the same responder, who is written by hand with the client
//! library and publishes to whatever reply address it is shown. `ask and answer` compares both ends: ours
//! checks that the address is one it may answer to, remembers each answer until the server has handled it,
//! and asks the server about 40 of them at a time.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::future::Future;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use mesh_benches::envelope::{id, message};
use mesh_benches::nats::{Envelope, Ground, headers};
use mesh_benches::race::{Contestant, Lap, Race, Stopwatch};
use mesh_core::identity::Responder;
use mesh_core::message::Headers;
use mesh_core::port::{Connection, Requests, ServeOptions};
use mesh_core::subject::{Filter, Subject};

const SUBJECT: &str = "mesh.tools.bench.echo";
const BY_HAND: &str = "mesh.tools.hand.echo";
const TIMEOUT: Duration = Duration::from_secs(5);

fn main() {
    let ground = Ground::new();
    ground.runtime.spawn(serve(ground.ours("bench")));
    ground.runtime.spawn(serve_by_hand(ground.theirs()));
    race(&ground, "ask, one by one", BY_HAND, 1_000, 1);
    race(&ground, "ask, 64 in flight", BY_HAND, 10_000, 64);
    race(&ground, "ask and answer, one by one", SUBJECT, 1_000, 1);
    race(&ground, "ask and answer, 64", SUBJECT, 10_000, 64);
}

fn race(ground: &Ground, name: &'static str, asked: &str, count: u32, together: usize) {
    let asker = ground.ours("asker");
    let requests = asker.requests().unwrap();
    let client = ground.theirs();
    let payload = &ground.payload;
    #[cfg(feature = "ruststream")]
    let publisher = ground.block(rival::publisher(ground.url()));
    let mut contestants = vec![
        Contestant::new("ours", || {
            let (requests, payload) = (Arc::clone(requests), payload.clone());
            let subject = Subject::new(asked).unwrap();
            ground.block(lap(count, together, move || {
                ask(Arc::clone(&requests), subject.clone(), payload.clone())
            }))
        }),
        Contestant::new("by hand", || {
            let (client, payload) = (client.clone(), payload.clone());
            ground.block(lap(count, together, move || ask_by_hand(client.clone(), payload.clone())))
        }),
    ];
    #[cfg(feature = "ruststream")]
    if asked == BY_HAND {
        contestants.push(Contestant::new("RustStream", || {
            let (publisher, payload) = (publisher.clone(), payload.clone());
            let ask = move || rival::ask(publisher.clone(), payload.clone());
            ground.block(lap(count, together, ask))
        }));
    }
    for standing in Race::new(name, count).run(&mut contestants) {
        println!("{standing}");
    }
}

async fn lap<F>(count: u32, together: usize, ask: impl Fn() -> F + Send + Sync) -> Lap
where
    F: Future<Output = ()> + Send,
{
    let mut latencies = Vec::with_capacity(count as usize);
    let watch = Stopwatch::start();
    let asking = stream::iter(0..count).map(|_| {
        let question = ask();
        async move {
            let began = Instant::now();
            question.await;
            began.elapsed()
        }
    });
    let mut asking = std::pin::pin!(asking.buffer_unordered(together));
    while let Some(latency) = asking.next().await {
        latencies.push(latency);
    }
    Lap { latencies, ..watch.stop() }
}

async fn ask(requests: Arc<dyn Requests>, subject: Subject, payload: Bytes) {
    let message = message(&subject, &id(), &payload);
    // Whoever answers by hand reads no address.
    let responder = Responder::Module("bench".parse().unwrap());
    let answer = requests.request(responder, message, TIMEOUT).await.unwrap();
    assert_eq!(black_box(answer).payload().len(), payload.len());
}

async fn serve(connection: Connection) {
    let filter = Filter::new(SUBJECT).unwrap();
    let requests = connection.requests().unwrap();
    let mut calls = requests.serve(filter, ServeOptions::default()).await.unwrap();
    // The server ends before this does.
    while let Some(Ok(call)) = calls.next().await {
        let payload = call.message().payload().clone();
        call.answer(Headers::default(), payload).await.unwrap();
    }
}

async fn ask_by_hand(client: async_nats::Client, payload: Bytes) {
    let headers = headers(&id());
    let size = payload.len();
    let asked = client.request_with_headers(BY_HAND, headers, payload);
    let answer = tokio::time::timeout(TIMEOUT, asked).await.unwrap().unwrap();
    assert_eq!(black_box(Envelope::of(answer)).payload.len(), size);
}

async fn serve_by_hand(client: async_nats::Client) {
    let group = "serve".to_owned();
    let mut calls = client.queue_subscribe(BY_HAND, group).await.unwrap();
    while let Some(mut call) = calls.next().await {
        let reply = call.reply.take().unwrap();
        let call = Envelope::of(call);
        client.publish(reply, black_box(call).payload).await.unwrap();
    }
}

#[cfg(feature = "ruststream")]
mod rival {
    use std::hint::black_box;

    use bytes::{Bytes, BytesMut};
    use mesh_benches::envelope::{id, rival_headers};
    use ruststream::{Broker, IncomingMessage, OutgoingMessage, RequestReply};
    use ruststream_nats::{NatsBroker, NatsPublish, NatsPublisher};

    use super::{BY_HAND, TIMEOUT};

    pub(super) async fn publisher(url: String) -> NatsPublisher {
        NatsBroker::new(url).connect().await.unwrap().publisher(NatsPublish)
    }

    pub(super) async fn ask(publisher: NatsPublisher, payload: Bytes) {
        let message = OutgoingMessage::produced(BY_HAND, BytesMut::from(&payload[..]));
        let message = message.with_headers(rival_headers(&id()));
        let answer = publisher.request(message, TIMEOUT).await.unwrap();
        assert_eq!(black_box(answer).payload().len(), payload.len());
    }
}
