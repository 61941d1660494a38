//! A realm in memory, with its bus inside and its backbone, on the real clock.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{
    Address, Envelope, InternalRequest, MailboxKind, MsgType, MxPath, Party, Profile, ReplyId,
    Topic, decode, decode_reply,
};
use mesh_core::name::{InstanceName, RealmName};
use mesh_core::port::{Clock, Connection, PublishOptions, SubscribeOptions, Subscription};
use mesh_core::store::KeyValue;
use mesh_federation::lease::{FederationFacade, FederationOptions, SharedOptions};
use mesh_federation::{ComponentHost, HostOptions, OsRandom, Random as _};
use mesh_transport_mem::{InMemoryExactBroker, InMemoryFilterBroker};
use serde_json::{Value, json};

pub const PATIENCE: Duration = Duration::from_secs(60);
/// For how long a gateway of the tests is taken to be there.
pub const PRESENCE: Duration = Duration::from_secs(3);
const SOURCE: &str = "desk.emits.said";

pub struct World {
    pub clock: Arc<dyn Clock>,
    bus: InMemoryFilterBroker,
    backbone: InMemoryExactBroker,
    inside: Connection,
}

pub fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

fn path(text: &str) -> MxPath<'static> {
    MxPath::new(text.to_owned()).unwrap()
}

fn gateway(name: &str) -> Principal {
    Principal::Gateway { name: InstanceName::new(name).unwrap() }
}

impl World {
    pub fn new() -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let bus = InMemoryFilterBroker::new(Arc::clone(&clock));
        let backbone = InMemoryExactBroker::new(Arc::clone(&clock));
        let inside = bus.connect(gateway("inside"));
        Self { clock, bus, backbone, inside }
    }

    pub fn host(&self, name: &str) -> ComponentHost {
        ComponentHost::new(realm("home"), self.bus.connect(gateway(name)), HostOptions::default())
    }

    pub fn backbone(&self, name: &str) -> Connection {
        self.backbone.connect(gateway(name))
    }

    /// A facade that keeps its leases in `store`.
    pub async fn facade(&self, name: &str, store: impl KeyValue + 'static) -> FederationFacade {
        let shared = SharedOptions {
            gateway: Some(name.to_owned()),
            presence: PRESENCE,
            ..SharedOptions::default()
        };
        let options = FederationOptions { store: Some(Arc::new(store)), shared, ..<_>::default() };
        FederationFacade::start(&self.host(name), self.backbone(name), options).await.unwrap()
    }

    /// Asks for what `sink` wants to hear, as a gateway does: each facade of the realm may take it.
    pub async fn subscribe(&self, sink: &str, millis: u64) -> Result<String, String> {
        let body =
            json!({ "sourcePath": SOURCE, "sinkPath": "window.emits.heard", "leaseMs": millis });
        let answer = self.ask(sink, "subscribe", &body).await?;
        Ok(answer["id"].as_str().unwrap().to_owned())
    }

    pub async fn ask(&self, from: &str, verb: &str, body: &Value) -> Result<Value, String> {
        let command = format!("_federation.accepts.{verb}");
        self.command(&command, from, None, body).await
    }

    /// Asks in the name of another realm, and of a principal there.
    pub async fn command(
        &self,
        command: &str,
        from: &str,
        principal: Option<&str>,
        body: &Value,
    ) -> Result<Value, String> {
        let body = RawJson::new(body.to_string()).unwrap();
        let (home, sender) = (realm("home"), realm(from));
        let id = ReplyId(OsRandom::new().bits());
        let reply_to = Topic::internal_reply(&home, id);
        let mut replies = listen(&self.inside, &reply_to).await;
        let to = Address::new(&home, path(command));
        let mut envelope = Envelope::new(MsgType::Cmd, Party::new(&sender, None), to);
        envelope.principal = principal.map(RawJson::string);
        envelope.body = Some(body);
        let request = InternalRequest::of(&envelope, Profile::MxEnv1, id.to_string(), reply_to);
        let topic = Topic::internal(&home, &path(command)).unwrap();
        publish(&self.inside, Message::new(topic, request.encode())).await;
        let reply = tokio::time::timeout(PATIENCE, replies.next()).await.expect("no reply");
        match decode_reply(reply.unwrap().unwrap().payload(), 1 << 20) {
            Ok(body) => Ok(body.to().unwrap()),
            Err(fault) => Err(fault.code.to_string()),
        }
    }

    pub async fn says(&self, number: u32) {
        let topic = Topic::internal(&realm("home"), &path(SOURCE)).unwrap();
        publish(&self.inside, Message::new(topic, number.to_string())).await;
    }

    pub async fn mailbox(&self, name: &str) -> Mailbox {
        let connection = self.backbone.connect(gateway("sink"));
        let subscription = listen(&connection, &MailboxKind::default().subject(&realm(name))).await;
        Mailbox { _connection: connection, subscription }
    }
}

async fn listen(connection: &Connection, to: &mesh_core::subject::Subject) -> Subscription {
    let options = SubscribeOptions::default();
    connection.transport().subscribe(to.clone().into(), options).await.unwrap()
}

async fn publish(connection: &Connection, message: Message) {
    connection.transport().publish(message, PublishOptions::default()).await.unwrap();
}

/// What a sink hears.
pub struct Mailbox {
    _connection: Connection,
    subscription: Subscription,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    Event(u32),
    /// What a notice says: `missed`, or why its lease ended.
    Notice(String),
}

impl Mailbox {
    pub async fn next(&mut self) -> Heard {
        let message = tokio::time::timeout(PATIENCE, self.subscription.next()).await;
        let message = message.expect("nothing came").unwrap().unwrap();
        let event = decode(message.payload(), 1 << 20).unwrap();
        let event = event.into_envelope(&realm("nobody")).unwrap();
        let body: Value = event.body.unwrap().to().unwrap();
        if event.to.path.message() == "lease-notice" {
            let said = body["reason"].as_str().or(body["kind"].as_str());
            return Heard::Notice(said.unwrap().to_owned());
        }
        Heard::Event(u32::try_from(body.as_u64().unwrap()).unwrap())
    }

    /// All until the event of that number, which must come.
    pub async fn until(&mut self, number: u32) -> Vec<Heard> {
        let mut all = Vec::new();
        loop {
            let heard = self.next().await;
            all.push(heard.clone());
            if heard == Heard::Event(number) {
                return all;
            }
        }
    }
}

/// Looks until it is so, or fails the test.
pub async fn until<F: Future<Output = bool>>(what: &str, mut is: impl FnMut() -> F) {
    let due = Instant::now() + PATIENCE;
    while !is().await {
        assert!(Instant::now() < due, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
