//! Two buses in the process, a gateway between them, and a realm that speaks by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::mx::{InternalRequest, MailboxKind};
use mesh_core::name::InstanceName;
use mesh_core::port::{Connection, PublishOptions, SubscribeOptions, Subscription};
use mesh_testkit::clock::ManualClock;
use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};

use super::super::*;
use super::support::*;
use crate::Seeded;

/// A bus without wildcards and groups, or with them.
#[derive(Debug, Clone)]
pub(super) enum Bus {
    Exact(InMemoryExactBroker),
    Filter(InMemoryFilterBroker),
}

impl Bus {
    pub(super) fn exact(clock: &ManualClock) -> Self {
        Self::Exact(InMemoryExactBroker::new(Arc::new(clock.clone())))
    }

    pub(super) fn filter(clock: &ManualClock) -> Self {
        Self::Filter(InMemoryFilterBroker::new(Arc::new(clock.clone())))
    }

    pub(super) fn connect(&self) -> Connection {
        match self {
            Self::Exact(broker) => broker.connect(someone()),
            Self::Filter(broker) => broker.connect(someone()),
        }
    }

    pub(super) fn subscriptions(&self) -> usize {
        match self {
            Self::Exact(broker) => broker.statistics().subscriptions,
            Self::Filter(broker) => broker.statistics().subscriptions,
        }
    }
}

pub(super) fn someone() -> Principal {
    Principal::Gateway { name: InstanceName::new("g1").unwrap() }
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) clock: ManualClock,
    pub(super) backbone: Bus,
    pub(super) local: Bus,
}

impl World {
    /// The backbone has exact subjects only, the realm's own bus has wildcards.
    pub(super) fn new() -> Self {
        let clock = ManualClock::new();
        Self { backbone: Bus::exact(&clock), local: Bus::filter(&clock), clock }
    }

    /// Neither bus has wildcards.
    pub(super) fn exact() -> Self {
        let clock = ManualClock::new();
        Self { backbone: Bus::exact(&clock), local: Bus::exact(&clock), clock }
    }

    /// Both have wildcards and groups.
    pub(super) fn grouped() -> Self {
        let clock = ManualClock::new();
        Self { backbone: Bus::filter(&clock), local: Bus::filter(&clock), clock }
    }

    pub(super) async fn gateway(&self, config: EdgeConfig, options: GatewayOptions) -> EdgeGateway {
        let (backbone, local) = (self.backbone.connect(), self.local.connect());
        EdgeGateway::start(config, backbone, local, options).await.unwrap()
    }

    pub(super) async fn started(&self) -> EdgeGateway {
        self.gateway(config(), options()).await
    }

    /// A realm that listens to its mailbox of this kind, and sends.
    pub(super) async fn peer(&self, name: &str, kind: MailboxKind) -> Peer {
        let connection = self.backbone.connect();
        let mailbox = listen(&connection, kind.subject(&realm(name)).as_str()).await;
        Peer { connection, mailbox }
    }

    pub(super) async fn listen(&self, subject: &str) -> Subscription {
        listen(&self.local.connect(), subject).await
    }

    /// A component that replies this to each request.
    pub(super) async fn component(&self, path: &str, reply: &'static str) {
        let connection = self.local.connect();
        let mut calls = listen(&connection, &format!("mx/1/acme.com/{path}")).await;
        tokio::spawn(async move {
            while let Some(Ok(call)) = calls.next().await {
                let to = reply_to(&call);
                publish(&connection, &to, reply.as_bytes()).await;
            }
        });
    }
}

/// What is usual, each time with ids of its own.
pub(super) fn options() -> GatewayOptions {
    static SEED: AtomicU64 = AtomicU64::new(1);
    let seed = SEED.fetch_add(1, Ordering::Relaxed);
    GatewayOptions { random: Arc::new(Seeded::new(seed)), ..GatewayOptions::default() }
}

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) connection: Connection,
    pub(super) mailbox: Subscription,
}

impl Peer {
    pub(super) async fn send(&self, kind: MailboxKind, bytes: &[u8]) {
        publish(&self.connection, kind.subject(&realm("acme.com")).as_str(), bytes).await;
    }

    /// The next answer: its profile, and its body or code.
    pub(super) async fn hear(&mut self) -> String {
        let (profile, outcome) = read(next(&mut self.mailbox).await.payload());
        format!("{profile} {outcome}")
    }

    /// Whether nothing has come.
    pub(super) async fn hears_nothing(&mut self) -> bool {
        settle().await;
        futures_util::FutureExt::now_or_never(self.mailbox.next()).is_none()
    }
}

pub(super) async fn listen(connection: &Connection, subject: &str) -> Subscription {
    let filter = mesh_core::subject::Filter::new(subject).unwrap();
    connection.transport().subscribe(filter, SubscribeOptions::default()).await.unwrap()
}

pub(super) async fn publish(connection: &Connection, subject: &str, bytes: &[u8]) {
    let subject = mesh_core::subject::Subject::new(subject).unwrap();
    let message = Message::new(subject, bytes.to_vec());
    connection.transport().publish(message, PublishOptions::default()).await.unwrap();
}

/// The next message, which must come.
pub(super) async fn next(subscription: &mut Subscription) -> Message {
    let arrival = tokio::time::timeout(Duration::from_secs(20), subscription.next());
    arrival.await.expect("nothing came").expect("open").expect("a message")
}

pub(super) fn reply_to(call: &Message) -> String {
    let request = InternalRequest::decode(call.payload(), usize::MAX).unwrap();
    request.reply_to.as_str().to_owned()
}

/// Lets all that is ready run.
pub(super) async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Waits until something is so.
pub(super) async fn until(mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect("it did not come about");
}
