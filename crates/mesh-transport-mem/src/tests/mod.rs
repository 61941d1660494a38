mod accounts;
mod answers;
mod clock;
mod composed;
mod dead;
mod durable;
mod lifecycle;
mod live;
mod permissions;
mod requests;
mod runtimes;
mod stress;

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::name::{ConsumerName, InstanceName, ModuleName, NodeName};
use mesh_core::permissions::Permissions;
use mesh_core::port::{Connection, Deliveries, Delivery, DriftMode, Incoming, ReceiveError};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{ConsumerRef, StreamName, Topology};

use crate::InMemoryDurableBroker;
use clock::ManualClock;

fn subject(text: &str) -> Subject {
    Subject::new(text).unwrap()
}

fn filter(text: &str) -> Filter {
    Filter::new(text).unwrap()
}

fn message(on: &str, body: impl Into<bytes::Bytes>) -> Message {
    Message::new(subject(on), body)
}

fn node() -> NodeName {
    NodeName::new("n1").unwrap()
}

fn module(name: &str) -> Principal {
    Principal::Module { node: node(), module: ModuleName::new(name).unwrap() }
}

fn controller() -> Principal {
    Principal::Controller { name: InstanceName::new("c1").unwrap() }
}

fn events(consumer: &str) -> ConsumerRef {
    ConsumerRef::new(StreamName::Events, ConsumerName::new(consumer).unwrap())
}

/// A durable broker with the mesh's streams, and a consumer `n1_audit` of everything of `mail`.
struct Bed {
    clock: Arc<ManualClock>,
    broker: InMemoryDurableBroker,
    /// The controller, who may do anything here.
    control: Connection,
    topology: Topology,
}

impl Bed {
    async fn new() -> Self {
        Self::with(|topology| topology).await
    }

    async fn with(change: impl FnOnce(Topology) -> Topology) -> Self {
        let clock = Arc::new(ManualClock::new());
        let broker = InMemoryDurableBroker::builder(clock.clone()).seed(7).build();
        let control = broker.connect(controller(), Permissions::everything()).unwrap();
        let audit = ModuleName::new("audit").unwrap();
        let topology = Topology::new().with_module(&node(), &audit, &[filter("mail.>")]).unwrap();
        let topology = change(topology);
        let bed = Self { clock, broker, control, topology };
        bed.assert().await;
        bed
    }

    async fn assert(&self) {
        let admin = self.control.administration().unwrap();
        let drift = admin.assert(&self.topology, DriftMode::Mend).await.unwrap();
        assert_eq!(drift, []);
    }

    fn connect(&self, name: &str) -> Connection {
        self.broker.connect(module(name), Permissions::everything()).unwrap()
    }

    async fn emit(&self, body: &'static str) {
        let message = message("mesh.events.mail.sent", body);
        let streams = self.control.streams().unwrap();
        streams.append(message, Default::default()).await.unwrap();
    }

    async fn read(&self, connection: &Connection, consumer: &str) -> Deliveries {
        let streams = connection.streams().unwrap();
        let options = Default::default();
        streams.consume(events(consumer), options).await.unwrap()
    }

    async fn dead(&self) -> u64 {
        let admin = self.control.administration().unwrap();
        let state = admin.inspect(StreamName::EventsDead).await.unwrap();
        state.unwrap().messages
    }
}

async fn next(deliveries: &mut Deliveries) -> Delivery {
    deliveries.next().await.unwrap().unwrap()
}

/// What has arrived by now, once everything that can run has run.
async fn arrived<T>(incoming: &mut Incoming<T>) -> Option<Result<T, ReceiveError>> {
    settle().await;
    match poll(&mut Box::pin(incoming.next())) {
        Poll::Ready(arrival) => arrival,
        Poll::Pending => None,
    }
}

/// Lets every other task of this single-threaded runtime run until it waits.
async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    let mut context = Context::from_waker(Waker::noop());
    std::pin::Pin::new(future).poll(&mut context)
}

impl Bed {
    /// What a consumer was not given yet, or has not settled.
    async fn owed(&self, consumer: &str) -> u64 {
        let admin = self.control.administration().unwrap();
        let state = admin.inspect_consumer(&events(consumer)).await.unwrap();
        let state = state.unwrap();
        state.owed()
    }
}
