//! A RabbitMQ whose accounts declare nothing. Beside them a queue gets a copy of everything, and the
//! broker itself shows what it holds.

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mesh_core::manifest::Mesh;
use mesh_core::port::{Connection, DriftMode};
use mesh_testkit::fixtures::module;
use mesh_testkit::servers::rabbit::{self, Layout, RabbitServer, User, VirtualHost};
use mesh_transport_amqp::{AmqpOptions, Target, connect};
use serde_json::{Value, json};

use crate::captured::{Captured, sorted};
use crate::module::Ground;

const TAP: &str = "tap";

pub(crate) struct Amqp {
    server: &'static RabbitServer,
    host: VirtualHost,
    layout: Layout,
}

#[async_trait]
impl Ground for Amqp {
    async fn raise(mesh: &Mesh) -> Self {
        let server = rabbit::shared().await.unwrap();
        let host = server.virtual_host().await.unwrap();
        // Users are the node's: both tests have the same.
        let layout = Layout::of(mesh).unwrap().with_passwords(|user| format!("secret of {user}"));
        host.import(&layout.definitions().unwrap()).await.unwrap();
        let management = host.management();
        let body = json!({ "durable": true });
        management.put(&["queues", host.name(), TAP], &body).await.unwrap();
        for exchange in ["mesh.events", "mesh.rpc"] {
            let path = ["bindings", host.name(), "e", exchange, "q", TAP];
            management.post(&path, &json!({ "routing_key": "#" })).await.unwrap();
        }
        let ground = Self { server, host, layout };
        let controller = ground.dial(&ground.layout.users()[0]).await;
        let topology = mesh.topology().unwrap();
        let administration = controller.administration().unwrap();
        administration.assert(&topology, DriftMode::Report).await.unwrap();
        ground
    }

    async fn connect(&self, name: &str) -> Connection {
        self.dial(self.layout.user_of(&module("n1", name)).unwrap()).await
    }

    async fn controller(&self) -> Connection {
        self.dial(&self.layout.users()[0]).await
    }

    async fn captured(self) -> Vec<Captured> {
        let wanted = json!({ "count": 1000, "ackmode": "ack_requeue_false", "encoding": "base64" });
        let path = ["queues", self.host.name(), TAP, "get"];
        let found = self.host.management().post(&path, &wanted).await.unwrap();
        let (mut events, mut calls, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        for message in found.as_array().unwrap() {
            let key = message["routing_key"].as_str().unwrap();
            if message["exchange"] == "mesh.events" {
                checked(message, "mesh.events", 2);
                events.push(captured(message, format!("mesh.events.{key}")));
            } else if let Some(tool) = key.strip_prefix("serve.") {
                checked(message, "mesh.rpc", 1);
                calls.push(captured(message, format!("mesh.tools.{tool}")));
            } else {
                assert_eq!(key, "reply.n1.audit");
                checked(message, "mesh.rpc", 1);
                answers.push(captured(message, "an answer".to_owned()));
            }
        }
        sorted(events, calls, answers)
    }
}

impl Amqp {
    async fn dial(&self, user: &User) -> Connection {
        let url = self.host.url_of(user.name(), user.password());
        let credential = user.credential(&url, &self.server.fingerprint()).unwrap();
        connect(Target::of(&credential).unwrap(), AmqpOptions::default()).await.unwrap()
    }
}

/// The properties that protocol §7 asks for.
fn checked(message: &Value, exchange: &str, mode: u64) {
    let properties = &message["properties"];
    assert_eq!(message["exchange"], exchange);
    assert_eq!(properties["delivery_mode"], mode, "{message}");
    let user = properties["user_id"].as_str().unwrap();
    assert!(["n1.mail", "n1.audit"].contains(&user), "{message}");
}

/// The content type is a property on AMQP, and no entry of the table (protocol §3).
fn captured(message: &Value, what: String) -> Captured {
    let properties = &message["properties"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let empty = serde_json::Map::new();
    let table = properties["headers"].as_object().unwrap_or(&empty);
    assert!(!table.contains_key("content-type"), "{message}");
    let table = table.iter().map(|(name, value)| (name.clone(), text(value)));
    let content_type =
        properties.get("content_type").map(|of| ("content-type".to_owned(), text(of)));
    let body = STANDARD.decode(text(&message["payload"])).unwrap();
    Captured::new(what, table.chain(content_type), body)
}
