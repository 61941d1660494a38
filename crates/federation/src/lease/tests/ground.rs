//! A realm with a local bus and a backbone, both in memory, on a clock that a test moves.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{FutureExt as _, StreamExt as _, stream};
use mesh_core::identity::Principal;
use mesh_core::json::RawJson;
use mesh_core::message::{HeaderName, HeaderValue, Message};
use mesh_core::mx::{
    Address, DEFAULT_MAX_BYTES, Envelope, Fault, InternalRequest, MailboxKind, MsgType, MxPath,
    Party, Profile, ReplyId, Topic, decode, decode_reply,
};
use mesh_core::name::{InstanceName, RealmName};
use mesh_core::port::{
    Capabilities, CloseReport, Connection, ConnectionStates, ErrorKind, Operation, PublishOptions,
    ReceiveError, SubscribeOptions, Subscription, Transport, TransportError,
};
use mesh_core::subject::{Filter, Subject};
use mesh_testkit::clock::ManualClock;
use mesh_transport_mem::{InMemoryDurableBroker, InMemoryExactBroker};
use tokio::sync::{Notify, Semaphore};

use crate::{ComponentHost, HostOptions, Random as _, Seeded};

pub(crate) fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

pub(crate) fn path(text: &str) -> MxPath<'static> {
    MxPath::new(text.to_owned()).unwrap()
}

pub(crate) fn json(text: &str) -> RawJson<'static> {
    RawJson::new(text.to_owned()).unwrap()
}

pub(crate) fn gateway(name: &str) -> Principal {
    Principal::Gateway { name: InstanceName::new(name).unwrap() }
}

pub(crate) struct Ground {
    pub(crate) clock: ManualClock,
    pub(crate) bus: InMemoryDurableBroker,
    pub(crate) backbone: InMemoryExactBroker,
    inside: Connection,
    random: Seeded,
}

/// Who asks, as a gateway says it.
#[derive(Clone, Copy)]
pub(crate) struct From<'a> {
    pub(crate) realm: &'a str,
    pub(crate) profile: Profile,
    pub(crate) principal: Option<&'a str>,
}

pub(crate) fn mx(realm: &str) -> From<'_> {
    From { realm, profile: Profile::MxEnv1, principal: None }
}

pub(crate) fn legacy(realm: &str) -> From<'_> {
    From { realm, profile: Profile::Legacy, principal: None }
}

impl<'a> From<'a> {
    pub(crate) fn for_principal(self, principal: &'a str) -> Self {
        Self { principal: Some(principal), ..self }
    }
}

impl Ground {
    pub(crate) fn new() -> Self {
        let clock = ManualClock::new();
        let bus = InMemoryDurableBroker::builder(Arc::new(clock.clone())).seed(7).build();
        let backbone = InMemoryExactBroker::new(Arc::new(clock.clone()));
        let inside = Self::connect_to(&bus, "inside");
        Self { clock, bus, backbone, inside, random: Seeded::new(3) }
    }

    fn connect_to(bus: &InMemoryDurableBroker, name: &str) -> Connection {
        bus.connect(gateway(name), mesh_core::permissions::Permissions::everything()).unwrap()
    }

    /// A host of the realm `home` for the gateway of this name.
    pub(crate) fn host(&self, name: &str) -> ComponentHost {
        let local = Self::connect_to(&self.bus, name);
        ComponentHost::new(realm("home"), local, HostOptions::default())
    }

    pub(crate) fn connect(&self) -> Connection {
        self.backbone.connect(gateway("out"))
    }

    /// Asks as a gateway does for a request that came in; `None` asks from inside the realm.
    pub(crate) async fn ask(
        &self,
        command: &str,
        from: Option<From<'_>>,
        body: &str,
    ) -> Result<serde_json::Value, Fault<'static>> {
        let body = json(body);
        let id = ReplyId(self.random.bits());
        let home = realm("home");
        let reply_to = Topic::internal_reply(&home, id);
        let mut replies = listen(&self.inside, reply_to.as_str()).await;
        let topic = Topic::internal(&home, &path(command)).unwrap();
        let payload = match from {
            Some(from) => {
                let sender = realm(from.realm);
                let to = Address::new(&home, path(command));
                let mut envelope = Envelope::new(MsgType::Cmd, Party::new(&sender, None), to);
                envelope.principal = from.principal.map(RawJson::string);
                envelope.body = Some(body);
                InternalRequest::of(&envelope, from.profile, id.to_string(), reply_to).encode()
            }
            None => InternalRequest::new(id.to_string(), reply_to, body).encode(),
        };
        publish(&self.inside, Message::new(topic, payload)).await;
        let reply = replies.next().await.unwrap().unwrap();
        match decode_reply(reply.payload(), DEFAULT_MAX_BYTES) {
            Ok(body) => Ok(body.to().unwrap()),
            Err(fault) => Err(fault.into_owned()),
        }
    }

    pub(crate) async fn emit(&self, source: &str, body: &str) {
        let topic = Topic::internal(&realm("home"), &path(source)).unwrap();
        publish(&self.inside, Message::new(topic, body.to_owned())).await;
        settle().await;
    }

    pub(crate) async fn emit_with(&self, source: &str, body: &str, header: (&str, &str)) {
        let topic = Topic::internal(&realm("home"), &path(source)).unwrap();
        let name = HeaderName::new(header.0.to_owned()).unwrap();
        let message = Message::new(topic, body.to_owned())
            .with_header(name, HeaderValue::new(header.1.to_owned()).unwrap());
        publish(&self.inside, message).await;
        settle().await;
    }

    pub(crate) async fn mailbox(&self, name: &str, profile: Profile) -> Mailbox {
        let kind = match profile {
            Profile::Legacy => MailboxKind::Legacy,
            Profile::MxEnv1 => MailboxKind::default(),
        };
        let connection = self.backbone.connect(gateway("sink"));
        Mailbox(listen(&connection, kind.subject(&realm(name)).as_str()).await)
    }

    pub(crate) async fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds)).await;
        settle().await;
    }
}

/// What another realm's gateway hears.
pub(crate) struct Mailbox(Subscription);

/// An event in it: path, body, and the whole.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Got {
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) whole: String,
}

impl Mailbox {
    /// What has arrived by now.
    pub(crate) async fn all(&mut self) -> Vec<Got> {
        let mut got = Vec::new();
        // A task that does much at a time is made to wait though there is more.
        let mut quiet = 0;
        while quiet < 2 {
            settle().await;
            quiet += 1;
            while let Some(Some(arrival)) = self.0.next().now_or_never() {
                quiet = 0;
                got.push(Self::read(&arrival.unwrap()));
            }
        }
        got
    }

    fn read(message: &Message) -> Got {
        let whole = String::from_utf8(message.payload().to_vec()).unwrap();
        let decoded = decode(message.payload(), DEFAULT_MAX_BYTES).unwrap();
        let event = decoded.into_envelope(&realm("nobody")).unwrap();
        assert_eq!(event.kind, MsgType::Evt);
        assert_eq!(event.from.realm.as_str(), "home");
        let body = event.body.as_ref().map_or("", |body| body.as_str()).to_owned();
        Got { path: event.to.path.as_str().to_owned(), body, whole }
    }

    pub(crate) async fn bodies(&mut self) -> Vec<String> {
        self.all().await.into_iter().map(|got| got.body).collect()
    }
}

pub(crate) async fn listen(connection: &Connection, filter: &str) -> Subscription {
    let filter = Filter::new(filter).unwrap();
    connection.transport().subscribe(filter, SubscribeOptions::default()).await.unwrap()
}

pub(crate) async fn publish(connection: &Connection, message: Message) {
    connection.transport().publish(message, PublishOptions::default()).await.unwrap();
}

/// Lets every other task run until it waits.
pub(crate) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// A transport that does not take what goes to some subject until it is let go, or refuses it, and whose
/// subscriptions end when it is cut.
#[derive(Debug)]
pub(crate) struct Stalling {
    inner: Connection,
    subject: Subject,
    gate: Arc<Semaphore>,
    error: Option<TransportError>,
    cut: Arc<Notify>,
}

impl Stalling {
    pub(crate) fn connection(
        inner: Connection,
        sink: &str,
        gate: Arc<Semaphore>,
        error: Option<TransportError>,
    ) -> Connection {
        Self::around(inner, sink, gate, error, Arc::default())
    }

    /// A bus whose subscriptions end each time that it is told to.
    pub(crate) fn cut(inner: Connection, cut: Arc<Notify>) -> Connection {
        Self::around(inner, "nobody", Arc::new(Semaphore::new(0)), None, cut)
    }

    fn around(
        inner: Connection,
        sink: &str,
        gate: Arc<Semaphore>,
        error: Option<TransportError>,
        cut: Arc<Notify>,
    ) -> Connection {
        let subject = MailboxKind::default().subject(&realm(sink));
        let clock = Arc::clone(inner.clock());
        let principal = inner.principal().clone();
        Connection::new(principal, clock, Arc::new(Self { inner, subject, gate, error, cut }))
    }
}

#[async_trait]
impl Transport for Stalling {
    fn capabilities(&self) -> &Capabilities {
        self.inner.transport().capabilities()
    }

    fn states(&self) -> ConnectionStates {
        self.inner.transport().states()
    }

    async fn publish(
        &self,
        message: Message,
        options: PublishOptions,
    ) -> Result<(), TransportError> {
        if *message.subject() == self.subject {
            if let Some(error) = &self.error {
                return Err(error.clone());
            }
            self.gate.acquire().await.unwrap().forget();
        }
        self.inner.transport().publish(message, options).await
    }

    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        let heard = self.inner.transport().subscribe(filter, options).await?;
        let cut = Arc::clone(&self.cut);
        let cut = async move { cut.notified().await };
        let error = TransportError::new(ErrorKind::Disconnected, Operation::Subscribe);
        let end = stream::once(async { Err(ReceiveError::Ended(error)) });
        Ok(Subscription::new(heard.take_until(Box::pin(cut)).chain(end)))
    }

    async fn flush(&self, timeout: Duration) -> Result<(), TransportError> {
        self.inner.transport().flush(timeout).await
    }

    async fn close(&self, timeout: Duration) -> CloseReport {
        self.inner.transport().close(timeout).await
    }
}
