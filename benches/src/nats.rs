//! What the benchmarks of NATS share: a private server, clients of both kinds, and the envelope that
//! each of them sends and reads.

use std::future::Future;
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::consumer::{AckPolicy, push};
use bytes::Bytes;
use mesh_core::credential::{Login, Secret};
use mesh_core::identity::Principal;
use mesh_core::port::Connection;
use mesh_core::topology::{ConsumerRef, ConsumerRules, DeliverySubject, StreamName};
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_transport_nats::{NatsOptions, Target, connect};
use tokio::runtime::Runtime;

use crate::envelope::EVENT;

const USER: &str = "open";
const PASSWORD: &str = "publicknowledge";

/// A private server and a runtime with two workers, or as many as the environment's
/// `MESH_BENCH_WORKERS` says.
#[derive(Debug)]
pub struct Ground {
    /// Where everything of this process runs.
    pub runtime: Runtime,
    /// The server, a process of its own.
    pub server: NatsServer,
    /// Makes streams and consumers; none of its work is measured.
    pub controller: jetstream::Context,
    /// 1 KiB.
    pub payload: Bytes,
}

impl Ground {
    /// Starts all of it.
    #[must_use]
    pub fn new() -> Self {
        let told = std::env::var("MESH_BENCH_WORKERS").ok().and_then(|text| text.parse().ok());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(told.unwrap_or(2))
            .enable_all()
            .build()
            .unwrap();
        let users = format!("users: [ {{ user: {USER}, password: \"{PASSWORD}\" }} ]");
        let config = NatsConfig::new()
            .jetstream()
            .with(format!("accounts {{ MESH {{ jetstream: enabled, {users} }} }}"))
            .with(format!("no_auth_user: {USER}"));
        let server = runtime.block_on(NatsServer::launch(config)).unwrap();
        crate::race::beside(server.pid().unwrap_or_default());
        let controller = runtime.block_on(async { jetstream::new(client(&server).await) });
        Self { runtime, server, controller, payload: Bytes::from(vec![b'x'; 1024]) }
    }

    /// Runs `work` on a worker and waits for it.
    pub fn block<F>(&self, work: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        self.runtime.block_on(self.runtime.spawn(work)).unwrap()
    }

    /// A connection of ours, as this module.
    #[must_use]
    pub fn ours(&self, module: &str) -> Connection {
        let login = Login::new(USER, Secret::new(PASSWORD)).unwrap();
        let principal =
            Principal::Module { node: "n1".parse().unwrap(), module: module.parse().unwrap() };
        let target = Target::insecure_loopback(self.server.address(), login, principal).unwrap();
        self.block(connect(target, NatsOptions::default())).unwrap()
    }

    /// A connection of the client library's.
    #[must_use]
    pub fn theirs(&self) -> async_nats::Client {
        self.runtime.block_on(client(&self.server))
    }

    /// The server's address, for a client that can't log in.
    #[must_use]
    pub fn url(&self) -> String {
        self.server.url()
    }

    /// An empty stream of events.
    pub fn empty_events(&self) {
        let config = jetstream::stream::Config {
            name: StreamName::Events.to_string(),
            subjects: vec!["mesh.events.*.>".to_owned()],
            max_consumers: 100,
            ..Default::default()
        };
        self.runtime.block_on(async {
            let stream = self.controller.get_or_create_stream(config).await.unwrap();
            stream.purge().await.unwrap();
        });
    }

    /// A new consumer of all events kept, with the rules of the protocol.
    #[must_use]
    pub fn new_consumer(&self, name: &str) -> ConsumerRef {
        let consumer = ConsumerRef::new(StreamName::Events, name.parse().unwrap());
        let rules = ConsumerRules::of(StreamName::Events);
        let config = push::Config {
            durable_name: Some(name.to_owned()),
            deliver_subject: DeliverySubject::of(consumer.clone()).to_subject().to_string(),
            deliver_group: Some(name.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: rules.ack_wait,
            max_deliver: rules.max_deliver.map_or(-1, i64::from),
            max_ack_pending: i64::try_from(rules.max_ack_pending).unwrap(),
            filter_subject: EVENT.to_owned(),
            ..Default::default()
        };
        self.runtime.block_on(async {
            let stream = self.controller.get_stream(StreamName::Events.as_str()).await.unwrap();
            let _ = stream.delete_consumer(name).await;
            stream.create_consumer(config).await.unwrap();
        });
        consumer
    }

    /// Takes a consumer away, and panics unless all of it was acknowledged.
    pub fn settled(&self, name: &str) {
        self.runtime.block_on(async {
            let stream = self.controller.get_stream(StreamName::Events.as_str()).await.unwrap();
            let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
            loop {
                let info = stream.consumer_info(name).await.unwrap();
                if info.num_ack_pending == 0 && info.num_pending == 0 {
                    break;
                }
                assert!(tokio::time::Instant::now() < deadline, "{info:?}");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            stream.delete_consumer(name).await.unwrap();
        });
    }
}

impl Default for Ground {
    fn default() -> Self {
        Self::new()
    }
}

async fn client(server: &NatsServer) -> async_nats::Client {
    async_nats::ConnectOptions::new()
        .user_and_password(USER.to_owned(), PASSWORD.to_owned())
        .connect(server.address().to_string())
        .await
        .unwrap()
}

/// The same headers as the client library has them.
#[must_use]
pub fn headers(id: &str) -> async_nats::HeaderMap {
    use async_nats::HeaderName;
    const ID: HeaderName = HeaderName::from_static("x-event-id");
    const SOURCE: HeaderName = HeaderName::from_static("x-source");
    const NODE: HeaderName = HeaderName::from_static("x-node");
    const TIME: HeaderName = HeaderName::from_static("x-time");
    const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");
    let mut map = async_nats::HeaderMap::new();
    map.insert(ID, id);
    map.insert(SOURCE, "bench");
    map.insert(NODE, "n1");
    map.insert(TIME, "2026-11-30T12:00:00Z");
    map.insert(CONTENT_TYPE, "application/json");
    map
}

/// What arrived, as a program without our library would have it: its own, whatever the connection does.
#[derive(Debug)]
pub struct Envelope {
    /// Where it was sent.
    pub subject: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub payload: Bytes,
}

impl Envelope {
    /// Reads one.
    #[must_use]
    pub fn of(message: async_nats::Message) -> Self {
        let headers = message.headers.iter().flat_map(|map| map.iter());
        let headers = headers.flat_map(|(name, values)| {
            values.iter().map(|value| (name.to_string(), value.as_str().to_owned()))
        });
        Self {
            headers: headers.collect(),
            subject: message.subject.to_string(),
            payload: message.payload,
        }
    }
}
