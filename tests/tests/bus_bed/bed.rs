//! A server in the layout of protocol §4 with the users of a small mesh, and nothing on it yet.

use mesh_control::genesis::{Genesis, Mode, Raised};
use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest};
use mesh_core::port::{AppendOptions, Connection, ConsumeOptions, TransportError};
use mesh_core::topology::{ConsumerRef, StreamName, Topology};
use mesh_testkit::fixtures::{consumer, message};
use mesh_testkit::servers::nats::{Layout, MeshServer, RawNats};
use mesh_transport_nats::{NatsOptions, Target, connect};
use serde_json::{Value, json};

/// `shop` emits, `mail` and `log` consume.
const MESH: &str = "
nodes = [{ name = 'n1' }, { name = 'n2' }]
assignments = [
    { module = 'shop', manifest = 'shop.toml', nodes = ['n1'] },
    { module = 'mail', manifest = 'mail.toml', nodes = ['n1'] },
    { module = 'log', manifest = 'log.toml', nodes = ['n1', 'n2'] },
]
";

const MODULES: [(&str, &str); 3] = [
    ("shop.toml", "name = 'shop'\nversion = '1'\nemits = ['sold', 'closed']"),
    ("mail.toml", "name = 'mail'\nversion = '1'\nconsumes = ['shop.sold']"),
    ("log.toml", "name = 'log'\nversion = '1'\nconsumes = ['shop.>']"),
];

pub fn mesh() -> Mesh {
    let modules: Vec<_> =
        MODULES.iter().map(|(file, text)| ModuleManifest::parse(file, text).unwrap()).collect();
    Mesh::resolve(&MeshFile::parse("mesh.toml", MESH).unwrap(), &modules).unwrap()
}

pub fn topology() -> Topology {
    mesh().topology().unwrap()
}

/// The consumer of events of that module on n1.
pub fn of_module(module: &str) -> ConsumerRef {
    consumer(StreamName::Events, &format!("n1_{module}"))
}

pub struct Bed {
    pub server: MeshServer,
    pub controller: Connection,
    pub hand: Hand,
}

impl Bed {
    pub async fn new() -> Self {
        let server = MeshServer::launch(Layout::split(&mesh()).unwrap()).await.unwrap();
        let controller = dial(&server, "controller").await;
        let hand = Hand::new(&server).await;
        Self { server, controller, hand }
    }

    pub async fn raise(&self, mode: Mode) -> Raised {
        self.raise_as(&topology(), mode).await
    }

    pub async fn raise_as(&self, topology: &Topology, mode: Mode) -> Raised {
        crate::soon(Genesis::of(topology).run(&self.controller, mode)).await
    }

    /// A new one, and raised.
    pub async fn raised() -> Self {
        let bed = Self::new().await;
        let raised = bed.raise(Mode::Raise).await;
        assert!(raised.is_good(), "{raised:?}");
        bed
    }

    pub async fn connect(&self, user: &str) -> Connection {
        dial(&self.server, user).await
    }

    /// Emits an event of `shop`.
    pub async fn emit(&self, shop: &Connection, body: &str) -> Result<(), TransportError> {
        let event = message("mesh.events.shop.sold", body);
        let append = shop.streams().unwrap().append(event, AppendOptions::default());
        crate::soon(append).await.map(drop)
    }

    /// Reads so many of `mail`'s events, and acknowledges them.
    pub async fn read(&self, mail: &Connection, count: usize) -> Vec<String> {
        let streams = mail.streams().unwrap();
        let reading = streams.consume(of_module("mail"), ConsumeOptions::default());
        let mut reading = crate::soon(reading).await.unwrap();
        let mut bodies = Vec::new();
        while bodies.len() < count {
            let delivery = crate::soon(reading.next()).await.unwrap().unwrap();
            bodies.push(String::from_utf8(delivery.message().payload().to_vec()).unwrap());
            delivery.ack().await.unwrap();
        }
        crate::soon(mail.transport().flush(crate::PATIENCE)).await.unwrap();
        bodies
    }
}

pub async fn dial(server: &MeshServer, user: &str) -> Connection {
    let credential = server.credential(user).unwrap();
    let target = Target::of(&credential).unwrap();
    crate::soon(connect(target, NatsOptions::default())).await.unwrap()
}

/// The controller's rights in the hands of somebody who meddles.
pub struct Hand {
    raw: tokio::sync::Mutex<RawNats>,
}

impl Hand {
    pub async fn new(server: &MeshServer) -> Self {
        Self { raw: tokio::sync::Mutex::new(server.raw("controller").await.unwrap()) }
    }

    /// What the server's API answers.
    pub async fn ask(&self, subject: &str, body: &Value) -> Value {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let subject = format!("$JS.API.{subject}");
        let mut raw = self.raw.lock().await;
        let answer = raw.request(&subject, "_INBOX.controller.meddler", &[], &body).await.unwrap();
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// The same, which must not be an error.
    pub async fn done(&self, subject: &str, body: &Value) -> Value {
        let answer = self.ask(subject, body).await;
        assert!(answer["error"].is_null(), "{subject} {body}: {answer}");
        answer
    }

    pub async fn stream(&self, name: &str) -> Value {
        self.done(&format!("STREAM.INFO.{name}"), &Value::Null).await
    }

    pub async fn consumer(&self, stream: &str, name: &str) -> Value {
        self.done(&format!("CONSUMER.INFO.{stream}.{name}"), &Value::Null).await
    }

    pub async fn change_stream(&self, name: &str, changes: &Value) -> Value {
        let config = changed(&self.stream(name).await["config"], changes);
        self.ask(&format!("STREAM.UPDATE.{name}"), &config).await
    }

    pub async fn remake_stream(&self, name: &str, changes: &Value) -> Value {
        let config = changed(&self.stream(name).await["config"], changes);
        self.done(&format!("STREAM.DELETE.{name}"), &Value::Null).await;
        self.ask(&format!("STREAM.CREATE.{name}"), &config).await
    }

    pub async fn change_consumer(&self, stream: &str, name: &str, changes: &Value) -> Value {
        let config = changed(&self.consumer(stream, name).await["config"], changes);
        self.make_consumer("update", stream, name, &config).await
    }

    pub async fn remake_consumer(&self, stream: &str, name: &str, changes: &Value) -> Value {
        let config = changed(&self.consumer(stream, name).await["config"], changes);
        self.done(&format!("CONSUMER.DELETE.{stream}.{name}"), &Value::Null).await;
        self.make_consumer("create", stream, name, &config).await
    }

    pub async fn make_consumer(
        &self,
        action: &str,
        stream: &str,
        name: &str,
        config: &Value,
    ) -> Value {
        let body = json!({ "stream_name": stream, "action": action, "config": config });
        self.ask(&format!("CONSUMER.CREATE.{stream}.{name}"), &body).await
    }

    pub async fn delete_stream(&self, name: &str) {
        self.done(&format!("STREAM.DELETE.{name}"), &Value::Null).await;
    }

    /// Appends by the mesh's own account, and waits for the server.
    pub async fn append(&self, subject: &str, headers: &[(&str, &str)], body: &str) -> Value {
        let mut raw = self.raw.lock().await;
        let inbox = "_INBOX.controller.meddler";
        let answer = raw.request(subject, inbox, headers, body.as_bytes()).await.unwrap();
        serde_json::from_slice(&answer.body).unwrap()
    }
}

/// `config` with changes; `null` takes a setting away.
fn changed(config: &Value, changes: &Value) -> Value {
    let mut config = config.clone();
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(config.as_object_mut().unwrap().remove(key)),
            value => config[key] = value.clone(),
        }
    }
    config
}
