use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mesh_core::mx::{Passage, Topic};
use mesh_core::port::{
    Capability, Connection, ErrorKind, QueueGroup, ReceiveError, SubscribeOptions, Subscription,
    TransportError,
};
use parking_lot::RwLock;
use tokio::task::JoinHandle;

use super::counters::{Counts, Way};
use super::links::Links;
use super::{DropReason, Hop, RouterClosed, RouterOptions, RouterStatus, Routes};

/// How long to wait before the inbox is listened to again, at first and at most.
const AGAIN: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(30)];

/// A router at work on a backbone; dropped, it is gone, with what still waits in it.
///
/// It listens on exactly one topic, its own inbox, in a queue group where the transport has such: several
/// bridges with the same routes then share the work. What it passes on is the payload with another `ttl`; headers
/// that a transport carries beside it end at each router. It keeps the order of what goes to one neighbour.
///
/// Nothing is tried again: a message that the next inbox did not take is counted and gone, and the one who
/// waits for an answer runs out of time. So a copy is delivered at most once.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use std::time::Duration;
/// use mesh_clock::SystemClock;
/// use mesh_core::identity::Principal;
/// use mesh_core::message::Message;
/// use mesh_core::mx::{MailboxKind, Shard, Topic};
/// use mesh_core::name::RealmName;
/// use mesh_federation::router::{RouterBridge, RouterOptions, Routes};
/// use mesh_transport_mem::InMemoryExactBroker;
///
/// let broker = InMemoryExactBroker::new(Arc::new(SystemClock::new()));
/// let connect = || -> Result<_, mesh_core::name::NameError> {
///     Ok(broker.connect(Principal::Gateway { name: "router".parse()? }))
/// };
/// let (acme, shop) = (RealmName::new("acme")?, RealmName::new("acme.shop")?);
///
/// let mut above = Routes::new(acme.clone());
/// above.add_child(shop.clone())?;
/// let above = RouterBridge::start(connect()?, above, RouterOptions::default()).await?;
/// let below = Routes::new(shop.clone()).with_parent(acme.clone())?;
/// let below = RouterBridge::start(connect()?, below, RouterOptions::default()).await?;
///
/// // What the gateway of acme.shop reads.
/// let mailbox = MailboxKind::default().subject(&shop);
/// let reader = connect()?;
/// let mut mailbox = reader.transport().subscribe(mailbox.into(), Default::default()).await?;
///
/// let letter = r#"{"msgType":"Evt","to":{"realm":"acme.shop","path":"till.emits.closed"},
///     "from":{"realm":"acme"},"msgId":"m-1","ttl":3}"#;
/// let inbox = Topic::route_inbox(&acme, Shard::default());
/// connect()?.transport().publish(Message::new(inbox, letter), Default::default()).await?;
///
/// let heard = mailbox.next().await.ok_or("it ended")??;
/// assert_eq!(heard.payload(), letter.replace("3}", "2}").as_bytes());
/// assert_eq!(above.close(Duration::from_secs(1)).await.lost, 0);
/// assert_eq!(below.status().counters.arrived, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RouterBridge {
    inner: Arc<Inner>,
    reader: JoinHandle<()>,
}

#[derive(Debug)]
struct Inner {
    backbone: Connection,
    routes: RwLock<Routes>,
    options: RouterOptions,
    links: Arc<Links>,
    counts: Arc<Counts>,
    listening: AtomicBool,
}

impl RouterBridge {
    /// Begins to route. Once it returns, what is published to the inbox is heard.
    ///
    /// # Errors
    /// What the backbone says to the subscription.
    pub async fn start(
        backbone: Connection,
        routes: Routes,
        options: RouterOptions,
    ) -> Result<Self, TransportError> {
        let links = Links::new(backbone.clone(), routes.realm().clone(), options.clone());
        let counts = Arc::clone(&links.counts);
        let inner = Arc::new(Inner {
            backbone,
            routes: RwLock::new(routes),
            options,
            links: Arc::new(links),
            counts,
            listening: AtomicBool::new(false),
        });
        let inbox = inner.listen().await?;
        let reader = tokio::spawn(Arc::clone(&inner).read(inbox));
        Ok(Self { inner, reader })
    }

    /// How it stands.
    #[must_use]
    pub fn status(&self) -> RouterStatus {
        let (waiting, waiting_bytes) = self.inner.links.waiting();
        RouterStatus {
            listening: self.inner.listening.load(Ordering::Relaxed),
            waiting,
            waiting_bytes,
            counters: self.inner.counts.read(),
            failing: self.inner.links.failing(),
        }
    }

    /// Changes the routes while it works: what arrives afterwards goes by the new ones. They are not to be
    /// replaced by those of another realm, whose inbox is not listened to.
    pub fn change<T>(&self, change: impl FnOnce(&mut Routes) -> T) -> T {
        change(&mut self.inner.routes.write())
    }

    /// Stops listening, sends what waits for at most `timeout`, and says what became of it.
    pub async fn close(self, timeout: Duration) -> RouterClosed {
        self.reader.abort();
        self.inner.listening.store(false, Ordering::Relaxed);
        let before = self.inner.links.waiting().0;
        tokio::select! {
            biased;
            () = self.inner.links.drained() => {}
            () = self.inner.backbone.clock().sleep(timeout) => {}
        }
        let lost = self.inner.links.abort();
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        RouterClosed { finished: count(before.saturating_sub(lost)), lost: count(lost) }
    }
}

impl Drop for RouterBridge {
    fn drop(&mut self) {
        self.reader.abort();
        self.inner.links.abort();
    }
}

impl Inner {
    async fn listen(&self) -> Result<Subscription, TransportError> {
        let transport = self.backbone.transport();
        let inbox = Topic::route_inbox(self.routes.read().realm(), self.options.shard);
        let shared = transport.capabilities().has(Capability::QueueGroups);
        let options = SubscribeOptions {
            group: shared.then(QueueGroup::serve),
            buffer: self.options.buffer,
            timeout: self.options.timeout,
        };
        let inbox = transport.subscribe(inbox.into(), options).await?;
        self.listening.store(true, Ordering::Relaxed);
        Ok(inbox)
    }

    /// Reads the inbox until the connection is closed, and listens again when it ended otherwise.
    async fn read(self: Arc<Self>, mut inbox: Subscription) {
        loop {
            match inbox.next().await {
                Some(Ok(message)) => self.arrived(message.payload()),
                Some(Err(ReceiveError::Lagged { lost })) => self.counts.lagged(lost),
                Some(Err(ReceiveError::Ended(error))) => {
                    self.listening.store(false, Ordering::Relaxed);
                    self.counts.interrupted();
                    tell(&self.routes.read(), &error);
                    match self.listen_again(error).await {
                        Some(again) => inbox = again,
                        None => return,
                    }
                }
                Some(Err(_)) => self.counts.interrupted(),
                None => break,
            }
        }
        self.listening.store(false, Ordering::Relaxed);
    }

    async fn listen_again(&self, mut error: TransportError) -> Option<Subscription> {
        let [mut pause, most] = AGAIN;
        while error.kind() != ErrorKind::Closed {
            self.backbone.clock().sleep(pause).await;
            pause = most.min(pause * 2);
            match self.listen().await {
                Ok(inbox) => return Some(inbox),
                Err(again) => error = again,
            }
        }
        None
    }

    /// Decides about one arrival, and puts it where it waits for its turn.
    fn arrived(&self, payload: &Bytes) {
        self.counts.arrived();
        if let Err(reason) = self.pass_on(payload) {
            self.counts.dropped(reason);
            tracing::debug!(%reason, "a message is not passed on");
        }
    }

    fn pass_on(&self, payload: &Bytes) -> Result<(), DropReason> {
        let passage = Passage::read(payload, self.options.max_bytes)
            .map_err(|_malformed| DropReason::Malformed)?;
        let routes = self.routes.read();
        let (to, way, bytes) = match routes.route(passage.envelope()) {
            Hop::Deliver => (None, Way::Deliver, payload.clone()),
            Hop::Down(child, ttl) => (Some(child.clone()), Way::Down, passage.with_ttl(ttl).into()),
            Hop::Up(parent, ttl) => (Some(parent.clone()), Way::Up, passage.with_ttl(ttl).into()),
            Hop::Drop(reason) => return Err(reason),
        };
        drop(routes);
        self.links.send(to, way, bytes)
    }
}

fn tell(routes: &Routes, error: &TransportError) {
    let (realm, error) = (routes.realm(), error as &dyn std::error::Error);
    tracing::warn!(%realm, error, "the router's inbox ended; it will be listened to again");
}
