//! Live messages of 1 KiB through a broker in the process, against bounded channels of tokio that
//! carry the same messages and know nothing of subjects.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail loudly")]
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use mesh_benches::{Comparison, Report};
use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::permissions::Permissions;
use mesh_core::port::{
    AppendOptions, Connection, ConsumeOptions, DriftMode, PublishOptions, ReceiveError,
    SubscribeOptions, Subscription, Transport,
};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{ConsumerRef, StreamName, Topology};
use mesh_transport_mem::{InMemoryDurableBroker, InMemoryExactBroker};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

/// A connection, who reads on it, and who else listens.
type Broker = (Connection, Arc<Mutex<Subscription>>, Vec<Subscription>);

/// How many messages may wait for one reader, on both sides.
const BUFFER: usize = 1024;
const MESSAGES: u32 = 200_000;

fn main() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let bench = Bench { runtime };
    bench.fan("1 to 1", 1, 1);
    bench.fan("1 to 100", 1, 100);
    bench.fan("100 to 1", 100, 1);
    bench.many_subscriptions();
    bench.events();
}

struct Bench {
    runtime: Runtime,
}

impl Bench {
    fn fan(&self, name: &str, publishers: u32, readers: u32) {
        let each = MESSAGES / publishers / readers;
        let deliveries = each * publishers * readers;
        let payload = Bytes::from(vec![b'x'; 1024]);
        for durable in [false, true] {
            let mut lost = 0;
            let kind = if durable { "permissions" } else { "exact" };
            let report = Comparison::new(format!("{name}, {kind}"), deliveries).run(
                || self.block(channels(publishers, readers, each, payload.clone())),
                || {
                    let run = broker(durable, publishers, readers, each, payload.clone());
                    lost += self.block(run);
                },
            );
            let share = lost as f64 / f64::from(deliveries) / 22.0 * 100.0;
            show(&report, &format!("lost {share:.2} %"));
        }
    }

    /// The baseline is the same broker without the others.
    fn many_subscriptions(&self) {
        const OTHERS: usize = 100_000;
        let broker = |others: usize| {
            self.block(async move {
                let connection = durable();
                let buffer = MESSAGES as usize;
                let reader = listen(&connection, "mesh.events.mail.sent", buffer).await;
                let mut held = Vec::new();
                for other in 0..others {
                    let filter = match other % 10 {
                        0 => format!("mesh.events.*.e{other}.>"),
                        _ => format!("mesh.events.m{}.e{other}", other % 100),
                    };
                    held.push(listen(&connection, &filter, 1).await);
                }
                (connection, Arc::new(Mutex::new(reader)), held)
            })
        };
        let (few, many) = (broker(0), broker(OTHERS));
        let publish = |(connection, reader, _): &Broker| {
            let (connection, reader) = (connection.clone(), Arc::clone(reader));
            self.block(async move {
                let transport = Arc::clone(connection.transport());
                publish(transport, MESSAGES, Bytes::new()).await;
                let mut reader = reader.lock().await;
                for _ in 0..MESSAGES {
                    reader.next().await.unwrap().unwrap();
                }
            });
        };
        let report = Comparison::new("publish and read among 100 000", MESSAGES)
            .run(|| publish(&few), || publish(&many));
        show(&report, "");
    }

    /// Events appended by one task, and read and acknowledged one by one by another.
    fn events(&self) {
        const EVENTS: u32 = 20_000;
        let payload = Bytes::from(vec![b'x'; 1024]);
        let report = Comparison::new("append, read and acknowledge", EVENTS).run(
            || self.block(channels(1, 1, EVENTS, payload.clone())),
            || self.block(events(EVENTS, payload.clone())),
        );
        show(&report, "");
    }

    fn block<F>(&self, work: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        // On a worker: the thread that waits is none.
        self.runtime.block_on(self.runtime.spawn(work)).unwrap()
    }
}

fn show(report: &Report, more: &str) {
    let rate = |ns: f64| 1e3 / ns;
    println!(
        "{report}  {:.2} against {:.2} M/s  {more}",
        rate(report.ours_ns),
        rate(report.baseline_ns)
    );
}

async fn channels(publishers: u32, readers: u32, each: u32, payload: Bytes) {
    let mut tasks = JoinSet::new();
    let mut senders = Vec::new();
    for _ in 0..readers {
        let (sender, mut receiver) = mpsc::channel::<Message>(BUFFER);
        senders.push(sender);
        tasks.spawn(async move { while receiver.recv().await.is_some() {} });
    }
    for _ in 0..publishers {
        let (senders, payload) = (senders.clone(), payload.clone());
        let subject = Subject::new("mesh.events.mail.sent").unwrap();
        tasks.spawn(async move {
            for _ in 0..each {
                let message = Message::new(subject.clone(), payload.clone());
                for sender in &senders {
                    sender.send(message.clone()).await.unwrap();
                }
            }
        });
    }
    drop(senders);
    tasks.join_all().await;
}

async fn broker(is_durable: bool, publishers: u32, readers: u32, each: u32, payload: Bytes) -> u64 {
    let connection = if is_durable {
        durable()
    } else {
        InMemoryExactBroker::new(Arc::new(SystemClock::new())).connect(principal())
    };
    let total = u64::from(publishers) * u64::from(each);
    let mut reading = JoinSet::new();
    for _ in 0..readers {
        let mut subscription = listen(&connection, "mesh.events.mail.sent", BUFFER).await;
        reading.spawn(async move {
            let (mut seen, mut lost) = (0, 0);
            while seen + lost < total {
                match subscription.next().await.unwrap() {
                    Ok(_) => seen += 1,
                    Err(ReceiveError::Lagged { lost: some }) => lost += some,
                    Err(_) => break,
                }
            }
            lost
        });
    }
    for _ in 0..publishers {
        let (transport, payload) = (Arc::clone(connection.transport()), payload.clone());
        tokio::spawn(publish(transport, each, payload));
    }
    reading.join_all().await.into_iter().sum()
}

async fn publish(transport: Arc<dyn Transport>, count: u32, payload: Bytes) {
    let subject = Subject::new("mesh.events.mail.sent").unwrap();
    for _ in 0..count {
        let message = Message::new(subject.clone(), payload.clone());
        let options = PublishOptions::default();
        transport.publish(message, options).await.unwrap();
    }
}

async fn events(count: u32, payload: Bytes) {
    let broker = InMemoryDurableBroker::new(Arc::new(SystemClock::new()));
    let controller = Principal::Controller { name: "c1".parse().unwrap() };
    let controller = broker.connect(controller, Permissions::everything()).unwrap();
    let topology = Topology::new()
        .with_module(
            &"n1".parse().unwrap(),
            &"audit".parse().unwrap(),
            &[Filter::new("mail.>").unwrap()],
        )
        .unwrap();
    let administration = controller.administration().unwrap();
    administration.assert(&topology, DriftMode::Mend).await.unwrap();
    let consumer = ConsumerRef::new(StreamName::Events, "n1_audit".parse().unwrap());
    let streams = Arc::clone(controller.streams().unwrap());
    let mut deliveries = streams.consume(consumer, ConsumeOptions::default()).await.unwrap();
    let reading = tokio::spawn(async move {
        for _ in 0..count {
            deliveries.next().await.unwrap().unwrap().ack().await.unwrap();
        }
    });
    let subject = Subject::new("mesh.events.mail.sent").unwrap();
    for _ in 0..count {
        let message = Message::new(subject.clone(), payload.clone());
        streams.append(message, AppendOptions::default()).await.unwrap();
    }
    reading.await.unwrap();
}

fn durable() -> Connection {
    InMemoryDurableBroker::new(Arc::new(SystemClock::new()))
        .connect(principal(), Permissions::everything())
        .unwrap()
}

fn principal() -> Principal {
    Principal::Module { node: "n1".parse().unwrap(), module: "mail".parse().unwrap() }
}

async fn listen(connection: &Connection, filter: &str, buffer: usize) -> Subscription {
    let options = SubscribeOptions {
        buffer: NonZeroUsize::new(buffer).unwrap(),
        ..SubscribeOptions::default()
    };
    let filter = Filter::new(filter).unwrap();
    connection.transport().subscribe(filter, options).await.unwrap()
}
