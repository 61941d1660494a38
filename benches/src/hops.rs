//! The hops of a request between two realms, over a port or a client library: who asks, who answers, and two
//! gateways written by hand between them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::StreamExt;
use mesh_core::message::Message;
use mesh_core::mx::{MailboxKind, Profile};
use mesh_core::name::RealmName;
use mesh_core::port::{Connection, PublishOptions, SubscribeOptions, Subscription};
use mesh_core::subject::{Filter, Subject};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::envelope::id;
use crate::race::{Lap, Stopwatch};

/// What components serve, in every realm.
pub const PATH: &str = "stock.accepts.count";
/// Who asks.
pub const ASKER: &str = "shop";

/// A way to publish and to listen.
#[derive(Debug, Clone)]
pub enum Bus {
    /// Ours.
    Port(Connection),
    /// The client library's.
    Nats(async_nats::Client),
}

/// An open subscription.
#[derive(Debug)]
pub enum Hearing {
    /// Ours.
    Port(Subscription),
    /// The client library's.
    Nats(async_nats::Subscriber),
}

/// A message as its bus has it.
#[derive(Debug)]
pub enum Heard {
    /// Ours.
    Port(Message),
    /// The client library's.
    Nats(async_nats::Message),
}

impl Bus {
    /// Publishes, and insists on nobody who hears it.
    pub async fn publish(&self, to: impl Into<String>, payload: Bytes) {
        match self {
            Self::Port(connection) => {
                let message = Message::new(Subject::new(to.into()).unwrap(), payload);
                let options = PublishOptions::default();
                connection.transport().publish(message, options).await.unwrap();
            }
            Self::Nats(client) => client.publish(to.into(), payload).await.unwrap(),
        }
    }

    /// Listens from when this returns.
    pub async fn listen(&self, filter: &str) -> Hearing {
        match self {
            Self::Port(connection) => {
                let filter = Filter::new(filter).unwrap();
                let options = SubscribeOptions::default();
                Hearing::Port(connection.transport().subscribe(filter, options).await.unwrap())
            }
            Self::Nats(client) => {
                let subscriber = client.subscribe(filter.to_owned()).await.unwrap();
                client.flush().await.unwrap();
                Hearing::Nats(subscriber)
            }
        }
    }
}

impl Hearing {
    /// The next message; none once the bus is gone.
    pub async fn next(&mut self) -> Option<Heard> {
        match self {
            Self::Port(subscription) => Some(Heard::Port(subscription.next().await?.unwrap())),
            Self::Nats(subscriber) => subscriber.next().await.map(Heard::Nats),
        }
    }
}

impl Heard {
    fn subject(&self) -> &str {
        match self {
            Self::Port(message) => message.subject().as_str(),
            Self::Nats(message) => message.subject.as_str(),
        }
    }

    /// Its body.
    #[must_use]
    pub fn payload(&self) -> &Bytes {
        match self {
            Self::Port(message) => message.payload(),
            Self::Nats(message) => &message.payload,
        }
    }
}

/// The realm's mailbox of the profile's kind.
#[must_use]
pub fn mailbox(realm: &str, profile: Profile) -> String {
    let kind = match profile {
        Profile::Legacy => MailboxKind::Legacy,
        Profile::MxEnv1 => MailboxKind::default(),
    };
    kind.subject(&RealmName::new(realm).unwrap()).as_str().to_owned()
}

fn inside(realm: &str) -> String {
    format!("mx/1/{realm}/{PATH}")
}

/// A component of `realm` that answers each request with the same kilobyte. Ends with its bus.
pub async fn component(bus: Bus, realm: &'static str, reply: Bytes) -> impl Future<Output = ()> {
    let mut calls = bus.listen(&inside(realm)).await;
    async move {
        while let Some(call) = calls.next().await {
            let text = std::str::from_utf8(call.payload()).unwrap();
            let (_, rest) = text.split_once(r#""replyTo":""#).unwrap();
            let (reply_to, _) = rest.split_once('"').unwrap();
            bus.publish(reply_to, reply.clone()).await;
        }
    }
}

/// Asks all of it, so many at a time, and hears as many answers.
pub async fn ask(
    bus: &Bus,
    to: &str,
    answers: &mut Hearing,
    requests: Vec<Bytes>,
    together: usize,
) -> Lap {
    let mut left = requests.len();
    let watch = Stopwatch::start();
    let mut requests = requests.into_iter();
    for request in requests.by_ref().take(together) {
        bus.publish(to, request).await;
    }
    while left > 0 {
        answers.next().await.unwrap();
        left -= 1;
        if let Some(request) = requests.next() {
            bus.publish(to, request).await;
        }
    }
    watch.stop()
}

/// The hops alone: the same three messages go out as from a gateway, of the same sizes, but whatever comes
/// in, it is not read.
pub async fn bare(
    backbone: Bus,
    local: Bus,
    realm: &'static str,
    profile: Profile,
    [request, answer]: [Bytes; 2],
) -> impl Future<Output = ()> {
    let mut mail = backbone.listen(&mailbox(realm, profile)).await;
    let mut replies = local.listen(&format!("mx/1/{realm}/_reply.*")).await;
    let (to, back) = (inside(realm), mailbox(ASKER, profile));
    let inward = async move {
        while mail.next().await.is_some() {
            local.publish(&*to, request.clone()).await;
        }
    };
    let outward = async move {
        while replies.next().await.is_some() {
            backbone.publish(&*back, answer.clone()).await;
        }
    };
    both(inward, outward)
}

/// A gateway as one would write it in an hour: typed structs, a table of who waits, answers put together as
/// text. It has no guards, limits, time-outs or counters, trusts what it reads, and knows no escapes.
pub async fn by_hand(
    backbone: Bus,
    local: Bus,
    realm: &'static str,
    profile: Profile,
) -> impl Future<Output = ()> {
    let mut mail = backbone.listen(&mailbox(realm, profile)).await;
    let mut replies = local.listen(&format!("mx/1/{realm}/_reply.*")).await;
    let waiting: Arc<Mutex<HashMap<String, Waiting>>> = Arc::default();
    let table = Arc::clone(&waiting);
    let inward = async move {
        while let Some(letter) = mail.next().await {
            let read: Letter<'_> = serde_json::from_slice(letter.payload()).unwrap();
            let (waiting, path) = read.waiting();
            let (reply, name) = (id(), profile.name());
            let Letter { correlation_id, msg_id, body, .. } = &read;
            let request = format!(
                r#"{{"correlationId":"{correlation_id}","replyTo":"mx/1/{realm}/_reply.{reply}","params":{body},"_mx":{{"fromRealm":"{}","incomingProfile":"{name}","msgId":"{msg_id}"}}}}"#,
                waiting.realm
            );
            table.lock().unwrap_or_else(PoisonError::into_inner).insert(reply, waiting);
            local.publish(format!("mx/1/{realm}/{path}"), request.into()).await;
        }
    };
    let outward = async move {
        while let Some(reply) = replies.next().await {
            let (_, key) = reply.subject().rsplit_once('.').unwrap();
            let found = waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
            let Some(Waiting { realm: asker, path, correlation_id }) = found else { continue };
            let read: Reply<'_> = serde_json::from_slice(reply.payload()).unwrap();
            assert!(read.ok);
            let body = read.body;
            let answer = match path {
                None => format!(
                    r#"{{"correlationId":"{correlation_id}","ok":true,"fromRealm":"{realm}","body":{body}}}"#
                ),
                Some(path) => format!(
                    r#"{{"msgType":"Result","to":{{"realm":"{asker}","path":"{path}"}},"from":{{"realm":"{realm}"}},"msgId":"{}","correlationId":"{correlation_id}","body":{body}}}"#,
                    id()
                ),
            };
            backbone.publish(mailbox(&asker, profile), answer.into()).await;
        }
    };
    both(inward, outward)
}

async fn both(inward: impl Future<Output = ()>, outward: impl Future<Output = ()>) {
    tokio::join!(inward, outward);
}

/// Who waits for an answer: with a path in MXENV/1.
struct Waiting {
    realm: String,
    path: Option<String>,
    correlation_id: String,
}

/// A request of either profile.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Letter<'a> {
    from: Option<Party<'a>>,
    to: Option<Party<'a>>,
    #[serde(borrow)]
    reply_to: Option<Party<'a>>,
    from_realm: Option<&'a str>,
    to_path: Option<&'a str>,
    msg_id: &'a str,
    correlation_id: &'a str,
    body: &'a RawValue,
}

#[derive(Deserialize)]
struct Party<'a> {
    realm: &'a str,
    path: Option<&'a str>,
}

#[derive(Deserialize)]
struct Reply<'a> {
    ok: bool,
    #[serde(borrow)]
    body: &'a RawValue,
}

impl Letter<'_> {
    /// Who waits, and the path that is asked.
    fn waiting(&self) -> (Waiting, &str) {
        let realm = self.from.as_ref().map(|from| from.realm).or(self.from_realm).unwrap();
        let path = self.to.as_ref().and_then(|to| to.path).or(self.to_path).unwrap();
        let back = self.reply_to.as_ref().and_then(|back| back.path).map(str::to_owned);
        let correlation_id = self.correlation_id.to_owned();
        (Waiting { realm: realm.to_owned(), path: back, correlation_id }, path)
    }
}
