//! Questions and answers of 1 KiB, one after another and 64 at a time.
//!
//! `ask` compares the asker alone: all ask the same responder, who is written by hand with the client
//! library. `ask and answer` compares both ends. Ours asks the broker before each question whether anybody
//! reads the queue, so that a question that nobody hears is answered at once and not by whoever comes
//! later; the first baseline publishes without a look, and learns by its time running out, the second
//! looks as ours does. All but RustStream wait for the confirmation too, and have a question returned
//! that no queue takes.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::collections::HashMap;
use std::future::Future;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, stream};
use lapin::message::Delivery;
use lapin::options::{
    BasicConsumeOptions, BasicPublishOptions, QueueBindOptions, QueueDeclareOptions,
};
use lapin::types::{FieldTable, ShortString};
use mesh_benches::amqp::{Envelope, Ground, Hand, RPC, properties};
use mesh_benches::envelope::{id, message};
use mesh_benches::race::{Contestant, Lap, Race, Stopwatch};
use mesh_core::identity::Responder;
use mesh_core::message::Headers;
use mesh_core::port::{Connection, Requests, ServeOptions};
use mesh_core::subject::{Filter, Subject};
use tokio::sync::oneshot;

const SUBJECT: &str = "mesh.tools.bench.echo";
const BY_HAND: &str = "mesh.tools.hand.echo";
const QUEUE: &str = "serve.hand.echo";
const TIMEOUT: Duration = Duration::from_secs(30);

fn main() {
    let ground = Ground::new();
    ground.exchange(RPC);
    ground.queue(QUEUE, "classic", (RPC, QUEUE));
    ground.runtime.spawn(serve_by_hand(ground.theirs("hand")));
    let ours = ground.ours("bench");
    let filter = Filter::new(SUBJECT).unwrap();
    let requests = Arc::clone(ours.requests().unwrap());
    let calls =
        ground.block(async move { requests.serve(filter, ServeOptions::default()).await.unwrap() });
    ground.runtime.spawn(serve(ours, calls));
    race(&ground, "ask, one by one", BY_HAND, 300, 1);
    race(&ground, "ask, 64 in flight", BY_HAND, 3_000, 64);
    race(&ground, "ask and answer, one by one", SUBJECT, 300, 1);
    race(&ground, "ask and answer, 64", SUBJECT, 3_000, 64);
}

fn race(ground: &Ground, name: &'static str, asked: &str, count: u32, together: usize) {
    let asker = ground.ours("asker");
    let requests = asker.requests().unwrap();
    let hand = Arc::new(ground.runtime.block_on(Asker::new(ground.theirs("other"))));
    let payload = &ground.payload;
    #[cfg(feature = "ruststream")]
    let requester = ground.block(rival::requester(ground.url("n1.rival")));
    let mut contestants = vec![Contestant::new("ours", || {
        let (requests, payload) = (Arc::clone(requests), payload.clone());
        let subject = Subject::new(asked).unwrap();
        ground.block(lap(count, together, move || {
            ask(Arc::clone(&requests), subject.clone(), payload.clone())
        }))
    })];
    for (name, looks) in [("by hand", false), ("by hand, looks", true)] {
        let hand = &hand;
        contestants.push(Contestant::new(name, move || {
            let (hand, payload) = (Arc::clone(hand), payload.clone());
            ground.block(lap(count, together, move || {
                let (hand, payload) = (Arc::clone(&hand), payload.clone());
                async move { hand.ask(payload, looks).await }
            }))
        }));
    }
    #[cfg(feature = "ruststream")]
    if asked == BY_HAND {
        contestants.push(Contestant::new("RustStream", || {
            let (requester, payload) = (requester.clone(), payload.clone());
            let ask = move || rival::ask(requester.clone(), payload.clone());
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
    let module = if subject.as_str() == SUBJECT { "bench" } else { "hand" };
    let responder = Responder::Module(module.parse().unwrap());
    let answer = requests.request(responder, message, TIMEOUT).await.unwrap();
    assert_eq!(black_box(answer).payload().len(), payload.len());
}

async fn serve(_connection: Connection, mut calls: mesh_core::port::Calls) {
    // The server ends before this does.
    let mut answers = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            call = calls.next() => {
                let Some(Ok(call)) = call else { return };
                let payload = call.message().payload().clone();
                answers.push(call.answer(Headers::default(), payload));
            }
            Some(answered) = answers.next() => answered.unwrap(),
        }
    }
}

/// Asks by hand: a queue of its own, and who waits for which answer.
struct Asker {
    hand: Hand,
    queue: ShortString,
    waiting: Arc<Mutex<HashMap<String, oneshot::Sender<Delivery>>>>,
}

impl Asker {
    async fn new(hand: Hand) -> Self {
        let queue = ShortString::from(format!("reply.{}.{}", hand.user, id()));
        let channel = &hand.reads;
        let own = QueueDeclareOptions { exclusive: true, auto_delete: true, ..Default::default() };
        channel.queue_declare(queue.clone(), own, FieldTable::default()).await.unwrap();
        let (options, arguments) = (QueueBindOptions::default(), FieldTable::default());
        let binding =
            channel.queue_bind(queue.clone(), RPC.into(), queue.clone(), options, arguments);
        binding.await.unwrap();
        let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
        let arguments = FieldTable::default();
        let reading = channel.basic_consume(queue.clone(), "".into(), options, arguments);
        let mut answers = reading.await.unwrap();
        let waiting: Arc<Mutex<HashMap<String, oneshot::Sender<Delivery>>>> = Arc::default();
        let known = Arc::clone(&waiting);
        tokio::spawn(async move {
            while let Some(Ok(answer)) = answers.next().await {
                let id = answer.properties.correlation_id().as_ref().unwrap();
                let waiter = known.lock().unwrap().remove(id.as_str());
                let _ = waiter.unwrap().send(answer);
            }
        });
        Self { hand, queue, waiting }
    }

    async fn ask(&self, payload: Bytes, looks: bool) {
        if looks {
            let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
            let looking =
                self.hand.reads.queue_declare(QUEUE.into(), passive, FieldTable::default());
            assert!(looking.await.unwrap().consumer_count() > 0);
        }
        let (sender, answer) = oneshot::channel();
        let correlation = id();
        self.waiting.lock().unwrap().insert(correlation.clone(), sender);
        let properties = properties(&self.hand.user, &id(), false)
            .with_reply_to(self.queue.clone())
            .with_correlation_id(correlation.into())
            .with_expiration(TIMEOUT.as_millis().to_string().into());
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let channel = &self.hand.publishes;
        let sent = channel.basic_publish(RPC.into(), QUEUE.into(), options, &payload, properties);
        let confirmed = async { sent.await.unwrap().await.unwrap() };
        let asked = async { tokio::join!(confirmed, answer) };
        let (confirmed, answer) = tokio::time::timeout(TIMEOUT, asked).await.unwrap();
        assert!(confirmed.is_ack());
        assert_eq!(black_box(Envelope::of(answer.unwrap())).payload.len(), payload.len());
    }
}

async fn serve_by_hand(hand: Hand) {
    let options = BasicConsumeOptions { no_ack: true, ..BasicConsumeOptions::default() };
    let reading = hand.reads.basic_consume(QUEUE.into(), "".into(), options, FieldTable::default());
    let mut calls = reading.await.unwrap();
    let mut answers = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            call = calls.next() => {
                let Some(Ok(call)) = call else { return };
                answers.push(answer_by_hand(&hand, call));
            }
            Some(()) = answers.next() => {}
        }
    }
}

async fn answer_by_hand(hand: &Hand, call: Delivery) {
    let reply = call.properties.reply_to().clone().unwrap();
    let id = call.properties.correlation_id().clone().unwrap();
    // RustStream hears what is sent to a name that only the broker itself knows, and names nobody.
    let (exchange, body) = match reply.as_str().starts_with("reply.") {
        true => (RPC, Envelope::of(call).payload),
        false => ("", Bytes::from(call.data)),
    };
    let properties = lapin::BasicProperties::default()
        .with_user_id(hand.user.as_str().into())
        .with_delivery_mode(1)
        .with_correlation_id(id);
    let options = BasicPublishOptions::default();
    let sent = hand.publishes.basic_publish(exchange.into(), reply, options, &body, properties);
    assert!(sent.await.unwrap().await.unwrap().is_ack());
}

#[cfg(feature = "ruststream")]
mod rival {
    use std::hint::black_box;

    use bytes::Bytes;
    use mesh_benches::amqp::RPC;
    use mesh_benches::envelope::{id, rival_headers};
    use ruststream::{Broker, IncomingMessage, OutgoingMessage, RequestReply};
    use ruststream_lapin::{LapinBroker, LapinRequest, LapinRequester};

    use super::{QUEUE, TIMEOUT};

    pub(super) async fn requester(url: String) -> LapinRequester {
        let broker = LapinBroker::new(url).connect().await.unwrap();
        broker.requester(LapinRequest::default().exchange(RPC).persistent(false))
    }

    pub(super) async fn ask(requester: LapinRequester, payload: Bytes) {
        let headers = rival_headers(&id());
        let message = OutgoingMessage::new(QUEUE, &payload).with_headers(headers);
        let answer = requester.request(message, TIMEOUT).await.unwrap();
        assert_eq!(black_box(answer).payload().len(), payload.len());
    }
}
