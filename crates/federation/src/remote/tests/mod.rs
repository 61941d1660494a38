mod call;
mod left;
mod resolved;
mod together;
mod watch;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::mx::{
    AnswerRoute, DEFAULT_MAX_BYTES, Decoded, Fault, MailboxKind, MxPath, MxUri, Profile, Shard,
    Stamp, decode,
};
use mesh_core::name::{InstanceName, RealmName};
use mesh_core::permissions::{Permissions, Rules};
use mesh_core::port::{Connection, Subscription};
use mesh_core::subject::Filter;
use mesh_testkit::clock::ManualClock;
use mesh_transport_mem::{InMemoryDurableBroker, InMemoryExactBroker, InMemoryFilterBroker};
use tokio::task::JoinHandle;

use super::{
    CallOptions, Direct, DirectError, DirectErrorKind, RealmClient, RealmOptions, RemoteError,
    ResolvedClient, Sent,
};
use crate::edge::EdgeConfig;
use crate::{AnswerLimits, Seeded};

const COUNT: &str = "matrix://shop.example/stock.accepts.count";
const KINDS: [MailboxKind; 2] = [MailboxKind::Legacy, MailboxKind::Mx(Shard(0))];

fn realm(name: &str) -> RealmName {
    RealmName::new(name).unwrap()
}

fn us() -> RealmName {
    realm("home.example")
}

fn shop() -> RealmName {
    realm("shop.example")
}

fn gateway(name: &str) -> Principal {
    Principal::Gateway { name: InstanceName::new(name).unwrap() }
}

fn json(text: &str) -> RawJson<'_> {
    RawJson::new(text).unwrap()
}

/// Lets every other task run until it waits.
async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// Two realms on a backbone without wildcards: ours with a client, and the shop's as bare mailboxes.
struct Bed {
    clock: ManualClock,
    backbone: InMemoryExactBroker,
    local: InMemoryFilterBroker,
    client: RealmClient,
}

impl Bed {
    async fn new() -> Self {
        Self::with(RealmOptions::default(), |outside| outside).await
    }

    async fn with(
        options: RealmOptions,
        change: impl FnOnce(ResolvedClient) -> ResolvedClient,
    ) -> Self {
        let clock = ManualClock::new();
        let backbone = InMemoryExactBroker::new(Arc::new(clock.clone()));
        let local = InMemoryFilterBroker::seeded(Arc::new(clock.clone()), 7);
        let connection = backbone.connect(gateway("home"));
        let client = client(connection, &local, options, change).await;
        // The gateway has a clock to look at as well.
        clock.sleepers(1).await;
        Self { clock, backbone, local, client }
    }

    async fn shop(&self) -> Shop {
        Shop::new(self.backbone.connect(gateway("shop"))).await
    }

    /// Calls in a task of its own.
    fn call(&self, body: &'static str) -> JoinHandle<Result<RawJson<'static>, RemoteError>> {
        let client = self.client.clone();
        tokio::spawn(async move { client.call(COUNT, &json(body)).await })
    }
}

/// Our realm on `backbone`, with its own gateway.
async fn client(
    backbone: Connection,
    local: &InMemoryFilterBroker,
    options: RealmOptions,
    change: impl FnOnce(ResolvedClient) -> ResolvedClient,
) -> RealmClient {
    let outside = change(ResolvedClient::new(backbone));
    let answers = AnswerLimits { per_realm: 20_000, ..AnswerLimits::default() };
    let options = RealmOptions { random: Arc::new(Seeded::new(7)), answers, ..options };
    let inside = local.connect(gateway("home"));
    RealmClient::start(EdgeConfig::new(us()), outside, inside, options).await.unwrap()
}

async fn mailboxes(connection: &Connection, realm: &RealmName) -> [Subscription; 2] {
    let open = async |kind: MailboxKind| {
        let filter = kind.subject(realm).into();
        let buffer = std::num::NonZeroUsize::new(20_000).unwrap();
        let options = mesh_core::port::SubscribeOptions { buffer, ..Default::default() };
        connection.transport().subscribe(filter, options).await.unwrap()
    };
    [open(KINDS[0]).await, open(KINDS[1]).await]
}

/// The other realm, as a test plays it.
struct Shop {
    connection: Connection,
    mailboxes: [Subscription; 2],
}

/// What came in by the shop's mailbox.
struct Came {
    kind: MailboxKind,
    message: Message,
}

impl Shop {
    async fn new(connection: Connection) -> Self {
        let mailboxes = mailboxes(&connection, &shop()).await;
        Self { connection, mailboxes }
    }

    async fn next(&mut self) -> Came {
        let [legacy, mx] = &mut self.mailboxes;
        let (kind, arrival) = tokio::select! {
            arrival = legacy.next() => (KINDS[0], arrival),
            arrival = mx.next() => (KINDS[1], arrival),
            // So that a test whose message does not come fails, and does not hang.
            () = tokio::time::sleep(Duration::from_secs(60)) => panic!("nothing came"),
        };
        Came { kind, message: arrival.unwrap().unwrap() }
    }

    /// Sends it, and sees that nothing else had come before it.
    async fn nothing_came(&mut self) {
        for kind in KINDS {
            self.send(kind, &shop(), b"mark".to_vec()).await;
            let came = self.next().await;
            assert_eq!(came.message.payload().as_ref(), b"mark", "{}", came.text());
        }
    }

    async fn send(&self, kind: MailboxKind, to: &RealmName, bytes: Vec<u8>) {
        let message = Message::new(kind.subject(to), bytes);
        self.connection.transport().publish(message, Default::default()).await.unwrap();
    }

    async fn answer(&self, came: &Came, outcome: Result<&str, (&str, &str)>) {
        let (route, _) = came.route();
        let stamp = Stamp::new(format!("to-{}", route.correlation_id()), 1);
        let bytes = match outcome {
            Ok(body) => route.ok(&stamp, &json(body)),
            Err((code, message)) => route.failed(&stamp, &Fault::new(code, message)),
        };
        self.send(came.kind, route.realm(), bytes).await;
    }
}

impl Came {
    fn text(&self) -> String {
        String::from_utf8(self.message.payload().to_vec()).unwrap()
    }

    fn route(&self) -> (AnswerRoute, Profile) {
        let decoded = decode(self.message.payload(), DEFAULT_MAX_BYTES).unwrap();
        let profile = decoded.profile();
        let envelope = decoded.into_envelope(&shop()).unwrap();
        (AnswerRoute::of(&envelope, profile).unwrap(), profile)
    }

    fn msg_id(&self) -> String {
        let id = match decode(self.message.payload(), DEFAULT_MAX_BYTES).unwrap() {
            Decoded::MxEnv(envelope) => envelope.msg_id,
            Decoded::LegacyRequest(request) | Decoded::LegacyEvent(request) => request.msg_id,
            Decoded::LegacyReply(_) => None,
        };
        id.unwrap().into_owned()
    }
}
