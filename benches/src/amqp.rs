//! What the benchmarks of AMQP share: a private RabbitMQ, connections of both kinds over the same TLS, and
//! the envelope that each of them sends and reads.

use std::future::Future;
use std::net::SocketAddr;

use bytes::Bytes;
use lapin::options::{QueueBindOptions, QueueDeclareOptions, QueuePurgeOptions};
use lapin::types::{AMQPValue, FieldTable, LongString};
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo};
use lapin::{AsyncTcpStream, BasicProperties, Channel, ConnectionProperties};
use mesh_core::credential::{Credential, Fingerprint, Fingerprints};
use mesh_core::port::Connection;
use mesh_testkit::servers::rabbit::{Account, Definitions, RabbitConfig, RabbitServer};
use mesh_transport_amqp::{AmqpOptions, Target, connect};
use tcp_stream::RustlsConnector;
use tokio::runtime::Runtime;

const PASSWORD: &str = "publicknowledge";
const VHOST: &str = "mesh";
const USER: &str = "n1.bench";

/// The exchange that events go to, and their key there.
pub const EVENTS: (&str, &str) = ("mesh.events", "bench.made");

/// The queue of `bench`'s consumer on `n1`: quorum, and of every event.
pub const QUEUE: &str = "n1.bench.events";

/// A private broker and a runtime with two workers, or as many as the environment's
/// `MESH_BENCH_WORKERS` says.
#[derive(Debug)]
pub struct Ground {
    /// Where everything of this process runs.
    pub runtime: Runtime,
    /// The broker, a process of its own.
    pub server: RabbitServer,
    /// 1 KiB.
    pub payload: Bytes,
    /// Looks after queues; none of its work is measured.
    keeper: (lapin::Connection, Channel),
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
        let account = Account::new(USER, PASSWORD).all_rights();
        let definitions = Definitions::new()
            .vhost(VHOST)
            .exchange(VHOST, EVENTS.0, "topic")
            .exchange(VHOST, "mesh.rpc", "topic")
            .account(VHOST, &account);
        // What quorum queues have written and purged stays in memory for a while.
        let memory = "vm_memory_high_watermark.absolute = 3GB";
        let config = RabbitConfig::new().with(memory).definitions(definitions);
        let server = runtime.block_on(RabbitServer::launch(config)).unwrap();
        let keeper = runtime.block_on(async {
            let connection = by_hand(&server).await;
            let channel = connection.create_channel().await.unwrap();
            (connection, channel)
        });
        Self { runtime, server, payload: Bytes::from(vec![b'x'; 1024]), keeper }
    }

    /// Runs `work` on a worker and waits for it.
    pub fn block<F>(&self, work: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        self.runtime.block_on(self.runtime.spawn(work)).unwrap()
    }

    /// A connection of ours.
    #[must_use]
    pub fn ours(&self) -> Connection {
        let document = format!(
            r#"{{"url": "{}", "fingerprint": "{}", "node": "n1", "module": "bench"}}"#,
            self.server.url_of(USER, PASSWORD, VHOST),
            self.server.fingerprint(),
        );
        let target = Target::of(&Credential::parse(document).unwrap()).unwrap();
        self.block(connect(target, AmqpOptions::default())).unwrap()
    }

    /// A connection of the client library's.
    #[must_use]
    pub fn theirs(&self) -> lapin::Connection {
        self.runtime.block_on(by_hand(&self.server))
    }

    /// A queue of every event, with nothing in it.
    pub fn empty_queue(&self) {
        let channel = &self.keeper.1;
        self.runtime.block_on(async {
            let mut quorum = FieldTable::default();
            quorum.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
            let lasting = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
            channel.queue_declare(QUEUE.into(), lasting, quorum).await.unwrap();
            let (exchange, _) = EVENTS;
            let binding = channel.queue_bind(
                QUEUE.into(),
                exchange.into(),
                "#".into(),
                QueueBindOptions::default(),
                FieldTable::default(),
            );
            binding.await.unwrap();
            channel.queue_purge(QUEUE.into(), QueuePurgeOptions::default()).await.unwrap();
        });
    }

    /// How many messages wait in the queue.
    #[must_use]
    pub fn waiting(&self) -> u32 {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let looking = self.keeper.1.queue_declare(QUEUE.into(), passive, FieldTable::default());
        self.runtime.block_on(looking).unwrap().message_count()
    }
}

impl Default for Ground {
    fn default() -> Self {
        Self::new()
    }
}

/// Connects as a program would that has this library and the pin, and nothing else of ours.
async fn by_hand(server: &RabbitServer) -> lapin::Connection {
    let address = server.address();
    let uri = AMQPUri {
        scheme: AMQPScheme::AMQPS,
        authority: AMQPAuthority {
            userinfo: AMQPUserInfo { username: USER.to_owned(), password: PASSWORD.to_owned() },
            host: address.ip().to_string(),
            port: address.port(),
        },
        vhost: VHOST.to_owned(),
        query: AMQPQueryString::default(),
    };
    let pin: Fingerprint = server.fingerprint().parse().unwrap();
    let pins = Fingerprints::new(vec![pin]).unwrap();
    let connector = RustlsConnector::from(mesh_tls::client_config(&pins).unwrap().config);
    let runtime = lapin::runtime::default_runtime().unwrap();
    let stream = async move |_uri: AMQPUri, runtime: _| {
        let address: SocketAddr = address;
        let stream = AsyncTcpStream::connect(&runtime, address).await?;
        Ok(stream.into_rustls(&connector, &address.ip().to_string()).await?)
    };
    lapin::Connection::connector(uri, runtime, stream, ConnectionProperties::default())
        .await
        .unwrap()
}

/// The headers and properties of an event, by hand.
#[must_use]
pub fn properties(id: &str) -> BasicProperties {
    let mut table = FieldTable::default();
    for (name, value) in [
        ("x-event-id", id),
        ("x-source", "bench"),
        ("x-node", "n1"),
        ("x-time", "2026-11-30T12:00:00Z"),
    ] {
        table.insert(name.into(), AMQPValue::LongString(LongString::from(value)));
    }
    BasicProperties::default()
        .with_content_type("application/json".into())
        .with_user_id(USER.into())
        .with_delivery_mode(2)
        .with_message_id(id.into())
        .with_headers(table)
}
