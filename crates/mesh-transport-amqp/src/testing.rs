//! A virtual host of a real broker, for this crate's own tests.

use std::time::Duration;

use mesh_core::credential::Credential;
use mesh_core::message::Message;
use mesh_core::port::Connection;
use mesh_core::subject::Subject;
use mesh_testkit::servers::rabbit::{self, Account, RabbitServer, VirtualHost};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::{AmqpOptions, Target, connect};

/// Whatever the user: users are the node's, and tests share it.
pub(crate) const PASSWORD: &str = "p@ss/word";

/// A virtual host, and who may do what there.
#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) server: &'static RabbitServer,
    pub(crate) host: VirtualHost,
}

impl Bed {
    /// An empty virtual host where `n1.mail` may do everything.
    pub(crate) async fn new() -> Self {
        let server = rabbit::shared().await.unwrap();
        let bed = Self { server, host: server.virtual_host().await.unwrap() };
        bed.account(Account::new("n1.mail", PASSWORD).all_rights()).await;
        bed
    }

    pub(crate) async fn account(&self, account: Account) {
        self.host.account(&account).await.unwrap();
    }

    /// A durable topic exchange.
    pub(crate) async fn exchange(&self, name: &str) {
        self.put("exchanges", name, json!({ "type": "topic", "durable": true })).await;
    }

    /// A durable queue.
    pub(crate) async fn queue(&self, name: &str, arguments: Value) {
        self.put("queues", name, json!({ "durable": true, "arguments": arguments })).await;
    }

    pub(crate) async fn bind(&self, exchange: &str, queue: &str, key: &str) {
        let path = ["bindings", self.host.name(), "e", exchange, "q", queue];
        let body = json!({ "routing_key": key });
        self.host.management().post(&path, &body).await.unwrap();
    }

    /// Removes a queue or an exchange.
    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        self.host.management().delete(&[kind, self.host.name(), name]).await.unwrap();
    }

    async fn put(&self, kind: &str, name: &str, body: Value) {
        let path = [kind, self.host.name(), name];
        self.host.management().put(&path, &body).await.unwrap();
    }

    /// The broker, for a module's user `<node>.<module>`.
    pub(crate) fn target(&self, user: &str) -> Target {
        let (node, module) = user.split_once('.').unwrap();
        self.target_as(user, json!({ "node": node, "module": module }))
    }

    /// The broker, for a user and whoever the document says that it is.
    fn target_as(&self, user: &str, mut document: Value) -> Target {
        document["url"] = self.host.url_of(user, PASSWORD).into();
        document["fingerprint"] = self.server.fingerprint().into();
        Target::of(&Credential::parse(document.to_string()).unwrap()).unwrap()
    }

    /// A controller, who may do everything.
    pub(crate) async fn controller(&self) -> Connection {
        let user = "controller.c1";
        self.account(Account::new(user, PASSWORD).all_rights()).await;
        let document = json!({ "kind": "controller", "name": "c1" });
        connect(self.target_as(user, document), AmqpOptions::default()).await.unwrap()
    }

    /// A node's host, who may do everything.
    pub(crate) async fn host_of(&self, node: &str) -> Connection {
        let user = format!("host.{node}");
        self.account(Account::new(&user, PASSWORD).all_rights()).await;
        let document = json!({ "kind": "host", "node": node });
        connect(self.target_as(&user, document), AmqpOptions::default()).await.unwrap()
    }

    /// The broker, as whoever logs in as `user`, under a name that does not matter.
    pub(crate) fn target_of(&self, user: &str) -> Target {
        self.target_as(user, json!({ "node": "n1", "module": "somebody" }))
    }

    pub(crate) async fn connect(&self, user: &str) -> Connection {
        connect(self.target(user), AmqpOptions::default()).await.unwrap()
    }
}

pub(crate) fn message(subject: &str, body: &str) -> Message {
    Message::new(Subject::new(subject).unwrap(), body.to_owned())
}

/// Long enough for whatever must come.
pub(crate) fn soon() -> Instant {
    Instant::now() + PATIENCE
}

const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for what must come.
pub(crate) async fn come<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.unwrap()
}
