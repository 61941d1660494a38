//! What the benchmarks of AMQP share: a private RabbitMQ, clients of both kinds, and the envelope that
//! each of them sends and reads.

use std::future::Future;

use bytes::Bytes;
use lapin::message::Delivery;
use lapin::options::{ConfirmSelectOptions, QueueDeclareOptions, QueuePurgeOptions};
use lapin::tcp::OwnedTLSConfig;
use lapin::types::{AMQPValue, FieldTable, LongString};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use mesh_core::credential::Credential;
use mesh_core::port;
use mesh_testkit::servers::rabbit::{Account, RabbitConfig, RabbitServer, VirtualHost};
use mesh_transport_amqp::{AmqpOptions, Target, connect};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::envelope::FIXED;

const PASSWORD: &str = "publicknowledge";

/// The exchange of events, and the key of the one that is sent.
pub const EVENTS: (&str, &str) = ("mesh.events", "bench.made");

/// The exchange of questions and answers.
pub const RPC: &str = "mesh.rpc";

/// A private node and a runtime with two workers, or as many as the environment's `MESH_BENCH_WORKERS`
/// says.
pub struct Ground {
    /// Where everything of this process runs.
    pub runtime: Runtime,
    /// The server, a process of its own.
    pub server: RabbitServer,
    host: VirtualHost,
    /// Looks after queues; none of its work is measured.
    controller: Hand,
    /// 1 KiB.
    pub payload: Bytes,
}

/// Two connections of the client library's with a channel each, the one that publishes in confirm mode: a
/// broker that runs out of memory stops a connection that publishes.
pub struct Hand {
    /// Its name.
    pub user: String,
    /// To publish on.
    pub publishes: Channel,
    /// To read on.
    pub reads: Channel,
    /// Dropped, they end.
    _connections: [Connection; 2],
}

impl Ground {
    /// Starts all of it.
    #[must_use]
    pub fn new() -> Self {
        #[cfg(feature = "ruststream")]
        trust::begin();
        let told = std::env::var("MESH_BENCH_WORKERS").ok().and_then(|text| text.parse().ok());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(told.unwrap_or(2))
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(RabbitServer::launch(RabbitConfig::new())).unwrap();
        crate::race::beside(server.pid().unwrap_or_default());
        #[cfg(feature = "ruststream")]
        trust::tell(server.certificate().cert_pem());
        let host = runtime.block_on(server.virtual_host()).unwrap();
        let controller = runtime.block_on(dial(&server, &host, "n1.controller"));
        let payload = Bytes::from(vec![b'x'; 1024]);
        Self { runtime, server, host, controller, payload }
    }

    /// Runs `work` on a worker and waits for it.
    pub fn block<F>(&self, work: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        self.runtime.block_on(self.runtime.spawn(work)).unwrap()
    }

    /// A connection of ours, as this module of `n1`.
    #[must_use]
    pub fn ours(&self, module: &str) -> port::Connection {
        let user = format!("n1.{module}");
        let document = json!({
            "node": "n1",
            "module": module,
            "url": self.url(&user),
            "fingerprint": self.server.fingerprint(),
        });
        let target = Target::of(&Credential::parse(document.to_string()).unwrap()).unwrap();
        self.block(connect(target, AmqpOptions::default())).unwrap()
    }

    /// Connections of the client library's, as this module of `n1`.
    #[must_use]
    pub fn theirs(&self, module: &str) -> Hand {
        self.runtime.block_on(dial(&self.server, &self.host, &format!("n1.{module}")))
    }

    /// Where this user, who may do everything, finds the virtual host.
    #[must_use]
    pub fn url(&self, user: &str) -> String {
        self.runtime.block_on(url(&self.host, user))
    }

    /// Makes an exchange of this name.
    pub fn exchange(&self, name: &str) {
        let path = ["exchanges", self.host.name(), name];
        let body = json!({ "type": "topic", "durable": true });
        self.runtime.block_on(self.host.management().put(&path, &body)).unwrap();
    }

    /// Makes a durable queue of this kind, bound to that key.
    pub fn queue(&self, name: &str, kind: &str, (exchange, key): (&str, &str)) {
        let host = self.host.name();
        let body = json!({ "durable": true, "arguments": { "x-queue-type": kind } });
        let management = self.host.management();
        self.runtime.block_on(async {
            management.put(&["queues", host, name], &body).await.unwrap();
            let path = ["bindings", host, "e", exchange, "q", name];
            management.post(&path, &json!({ "routing_key": key })).await.unwrap();
        });
    }

    /// Empties a queue.
    pub fn purge(&self, queue: &str) {
        let purging = self.controller.reads.queue_purge(queue.into(), QueuePurgeOptions::default());
        self.runtime.block_on(purging).unwrap();
    }

    /// How many messages a queue has that nobody holds.
    #[must_use]
    pub fn count(&self, queue: &str) -> u32 {
        self.look(queue).message_count()
    }

    /// How many read a queue.
    pub fn readers(&self, queue: &str) -> u32 {
        self.look(queue).consumer_count()
    }

    fn look(&self, queue: &str) -> lapin::Queue {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let looking =
            self.controller.reads.queue_declare(queue.into(), passive, FieldTable::default());
        self.runtime.block_on(looking).unwrap()
    }
}

impl Default for Ground {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Ground {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ground").field("server", &self.server).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Hand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hand").field("user", &self.user).finish_non_exhaustive()
    }
}

async fn url(host: &VirtualHost, user: &str) -> String {
    host.account(&Account::new(user, PASSWORD).all_rights()).await.unwrap();
    host.url_of(user, PASSWORD)
}

async fn dial(server: &RabbitServer, host: &VirtualHost, user: &str) -> Hand {
    let url = url(host, user).await;
    let connection = async || {
        let config = OwnedTLSConfig {
            cert_chain: Some(server.certificate().cert_pem().to_owned()),
            ..OwnedTLSConfig::default()
        };
        let runtime = lapin::runtime::default_runtime().unwrap();
        let properties = ConnectionProperties::default();
        Connection::connect_with_config(&url, properties, config, runtime).await.unwrap()
    };
    let connections = [connection().await, connection().await];
    let publishes = connections[0].create_channel().await.unwrap();
    publishes.confirm_select(ConfirmSelectOptions::default()).await.unwrap();
    let reads = connections[1].create_channel().await.unwrap();
    Hand { user: user.to_owned(), publishes, reads, _connections: connections }
}

/// The properties that ours sends: the headers of an event, and who sends it.
#[must_use]
pub fn properties(user: &str, id: &str, persistent: bool) -> BasicProperties {
    let text = |value: &str| AMQPValue::LongString(LongString::from(value));
    let mut table = FieldTable::default();
    let mut properties = BasicProperties::default()
        .with_user_id(user.into())
        .with_delivery_mode(if persistent { 2 } else { 1 });
    table.insert("x-event-id".into(), text(id));
    for (name, value) in FIXED {
        if name == "content-type" {
            properties = properties.with_content_type(value.into());
        } else {
            table.insert(name.into(), text(value));
        }
    }
    properties.with_headers(table)
}

/// What arrived, as a program without our library would have it: its own, whatever the connection does.
#[derive(Debug)]
pub struct Envelope {
    /// Where it was sent.
    pub exchange: String,
    /// With which key.
    pub key: String,
    /// By whom.
    pub user: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub payload: Bytes,
}

impl Envelope {
    /// Reads one.
    #[must_use]
    pub fn of(delivery: Delivery) -> Self {
        let Delivery { exchange, routing_key, properties, data, .. } = delivery;
        let table = properties.headers().iter().flat_map(FieldTable::inner);
        let mut headers: Vec<(String, String)> = table
            .filter_map(|(name, value)| match value {
                AMQPValue::LongString(text) => Some((name.to_string(), text.to_string())),
                _ => None,
            })
            .collect();
        if let Some(kind) = properties.content_type() {
            headers.push(("content-type".to_owned(), kind.to_string()));
        }
        Self {
            exchange: exchange.to_string(),
            key: routing_key.to_string(),
            user: properties.user_id().as_ref().unwrap().to_string(),
            headers,
            payload: data.into(),
        }
    }
}

/// RustStream looks for authorities where the environment says, and that is settled before a process
/// begins: so this process begins again.
#[cfg(feature = "ruststream")]
mod trust {
    use std::path::PathBuf;
    use std::process::{Command, exit};

    const FILE: &str = "SSL_CERT_FILE";
    const BEGAN: &str = "MESH_BENCH_TRUST";

    pub(super) fn begin() {
        if std::env::var_os(BEGAN).is_some() {
            return;
        }
        let name = format!("mesh-bench-{}.pem", std::process::id());
        let file = std::env::temp_dir().join(name);
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(std::env::args_os().skip(1)).env(FILE, &file).env(BEGAN, "1");
        let ended = again.status().unwrap();
        let _ = std::fs::remove_file(file);
        exit(ended.code().unwrap_or(1));
    }

    pub(super) fn tell(pem: &str) {
        let file = PathBuf::from(std::env::var_os(FILE).unwrap());
        std::fs::write(file, pem).unwrap();
    }
}
