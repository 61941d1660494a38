use std::time::Duration;

use mesh_core::identity::{Principal, Responder};
use mesh_core::manifest::{Mesh, MeshFile, ModuleManifest};
use mesh_core::message::{Headers, Message};
use mesh_core::port::{
    AppendOptions, Call, Calls, Connection, ConsumeOptions, Deliveries, Delivery, ErrorKind,
    ServeOptions, TransportError,
};
use mesh_core::topology::{ConsumerRef, StreamName};
use mesh_testkit::fixtures::{self, filter, module, module_name, person};
use mesh_testkit::servers::rabbit::{self, Definitions, Layout, RabbitServer, VirtualHost};
use mesh_transport_amqp::{AmqpOptions, connect};
use serde_json::Value;
use tokio::time::timeout;

use crate::target;

/// A bus as its owner has written it down by hand, which had no composer: limits by policy alone; without hashes.
const BY_HAND: &str = include_str!("definitions.json");

const MESH: &str = r#"
nodes = [{ name = "n1" }, { name = "n2" }]
assignments = [
  { module = "m1", manifest = "m1.toml", nodes = ["n1", "n2"] },
  { module = "m2", manifest = "m2.toml", nodes = ["n1"] },
]
people = [{ name = "alice", tools = ["m1.echo"] }]
"#;
const M1: &str = r#"
name = "m1"
version = "1"
emits = ["happened", "done"]
consumes = ["m2.happened", "m3.*"]
tools = [{ name = "echo", description = "Answers what it is asked." }]
"#;
const M2: &str = r#"
name = "m2"
version = "1"
emits = ["happened"]
consumes = ["m1.happened"]
calls = ["m1.echo"]
tools = [{ name = "boom", description = "Fails." }]
"#;

/// The mesh whose accounts these are.
pub(crate) fn mesh() -> Mesh {
    let manifests = [("m1.toml", M1), ("m2.toml", M2)];
    let manifests = manifests.map(|(file, text)| ModuleManifest::parse(file, text).unwrap());
    Mesh::resolve(&MeshFile::parse("mesh.toml", MESH).unwrap(), &manifests).unwrap()
}

/// What is composed of a mesh's files.
pub(crate) fn composed(mesh: &Mesh) -> Definitions {
    let layout = Layout::of(mesh).unwrap().with_passwords(password_of);
    layout.definitions_with(&mesh.topology().unwrap()).unwrap()
}

/// A virtual host with the bus's definitions.
pub(crate) struct Bed {
    server: &'static RabbitServer,
    pub(crate) host: VirtualHost,
}

impl Bed {
    /// On what is composed of the mesh's files, with one binding more than they justify: the queue of m2 gets
    /// everything.
    pub(crate) async fn new() -> Self {
        let (vhost, queue) = (Layout::MESH, "n1.m2.events");
        Self::of(&composed(&mesh()).binding(vhost, "mesh.events", queue, "#")).await
    }

    pub(crate) async fn by_hand() -> Self {
        let mut definitions: Value = serde_json::from_str(BY_HAND).unwrap();
        // Users are the node's: those of all tests are the same.
        let composed = composed(&mesh()).to_json();
        let known = composed["users"].as_array().unwrap();
        for user in definitions["users"].as_array_mut().unwrap() {
            let same = known.iter().find(|other| other["name"] == user["name"]).unwrap();
            user["password_hash"] = same["password_hash"].clone();
        }
        Self::of(&Definitions::parse(&definitions.to_string()).unwrap()).await
    }

    pub(crate) async fn of(definitions: &Definitions) -> Self {
        let server = rabbit::shared().await.unwrap();
        let host = server.virtual_host().await.unwrap();
        host.import(definitions).await.unwrap();
        Self { server, host }
    }

    pub(crate) fn server(&self) -> &'static RabbitServer {
        self.server
    }

    /// Whoever logs in as that user.
    async fn connect(&self, user: &str, principal: &Principal) -> Connection {
        let url = self.host.url_of(user, &password_of(user));
        let target = target::of(&url, &self.server.fingerprint(), principal).unwrap();
        connect(target, AmqpOptions::default()).await.unwrap()
    }

    pub(crate) async fn module(&self, node: &str, name: &str) -> Connection {
        self.connect(&format!("{node}.{name}"), &module(node, name)).await
    }

    pub(crate) async fn alice(&self) -> Connection {
        self.connect("person.alice", &person("alice")).await
    }

    pub(crate) async fn controller(&self) -> Connection {
        self.connect("substrate", &fixtures::controller()).await
    }
}

pub(crate) fn password_of(user: &str) -> String {
    format!("secret of {user}")
}

/// Waits for what must come.
pub(crate) async fn come<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(30), future).await.unwrap()
}

pub(crate) async fn try_append(
    connection: &Connection,
    subject: &str,
    body: &str,
) -> Result<(), TransportError> {
    let message = fixtures::message(subject, body);
    let appending = connection.streams()?.append(message, AppendOptions::default());
    come(appending).await.map(drop)
}

pub(crate) async fn append(connection: &Connection, subject: &str, body: &str) {
    try_append(connection, subject, body).await.unwrap();
}

pub(crate) async fn try_read(
    connection: &Connection,
    of: ConsumerRef,
    patterns: &[&str],
) -> Result<Deliveries, TransportError> {
    let patterns = patterns.iter().map(|text| filter(text)).collect();
    let options = ConsumeOptions { patterns, ..ConsumeOptions::default() };
    come(connection.streams()?.consume(of, options)).await
}

pub(crate) fn events_of(name: &str) -> ConsumerRef {
    fixtures::consumer(StreamName::Events, name)
}

pub(crate) async fn next(deliveries: &mut Deliveries, body: &str) -> Delivery {
    let delivery = come(deliveries.next()).await.unwrap().unwrap();
    assert_eq!(delivery.message().payload(), body.as_bytes());
    delivery
}

pub(crate) async fn ack(delivery: Delivery) {
    come(delivery.ack()).await.unwrap();
}

pub(crate) async fn try_serve(
    connection: &Connection,
    module: &str,
    tool: &str,
) -> Result<Calls, TransportError> {
    let place = fixtures::tool(module, tool).into();
    come(connection.requests()?.serve(place, ServeOptions::default())).await
}

/// Asks `module`, for as long as `patience`.
pub(crate) async fn try_ask(
    connection: &Connection,
    (module, tool): (&str, &str),
    body: &str,
    patience: Duration,
) -> Result<Message, TransportError> {
    let question = Message::new(fixtures::tool(module, tool), body.to_owned());
    let responder = Responder::Module(module_name(module));
    connection.requests()?.request(responder, question, patience).await
}

/// Answers the next call with what was asked; who asked.
pub(crate) async fn echo(calls: &mut Calls) -> Option<Principal> {
    let call: Call = come(calls.next()).await.unwrap().unwrap();
    let (caller, payload) = (call.caller().cloned(), call.message().payload().clone());
    come(call.answer(Headers::default(), payload)).await.unwrap();
    caller
}

/// Fails unless the call failed with this kind.
#[track_caller]
pub(crate) fn refused<T>(result: Result<T, TransportError>, kind: ErrorKind) -> TransportError {
    match result {
        Ok(_) => panic!("it was accepted"),
        Err(error) if error.kind() == kind => error,
        Err(error) => panic!("expected {kind}, found {error}"),
    }
}
