//! A RabbitMQ of its own.

use std::collections::BTreeMap;

use async_trait::async_trait;
use mesh_core::credential::Credential;
use mesh_core::port::DriftMode;
use mesh_testkit::fixtures::module;
use mesh_testkit::servers::rabbit::{Layout, MeshServer};
use mesh_transport_amqp::{AmqpOptions, Target, connect};
use serde_json::json;

use crate::{Changing, Ground, mesh};

pub(crate) struct Amqp {
    server: MeshServer,
    /// The passwords that are not those of the layout any more.
    rotated: BTreeMap<String, String>,
}

impl Amqp {
    pub(crate) async fn raise() -> Self {
        let server = MeshServer::launch(Layout::of(&mesh()).unwrap()).await.unwrap();
        let substrate = server.credential(&server.layout().users()[0]).unwrap();
        let target = Target::of(&substrate).unwrap();
        let controller = connect(target, AmqpOptions::default()).await.unwrap();
        let topology = mesh().topology().unwrap();
        let administration = controller.administration().unwrap();
        administration.assert(&topology, DriftMode::Report).await.unwrap();
        Self { server, rotated: BTreeMap::new() }
    }
}

impl Ground for Amqp {
    fn credential(&self, name: &str) -> Credential {
        let user = self.server.layout().user_of(&module("n1", name)).unwrap();
        let Some(password) = self.rotated.get(name) else {
            return self.server.credential(user).unwrap();
        };
        let server = self.server.server();
        let url = server.url_of(user.name(), password, user.vhost());
        user.credential(&url, &server.fingerprint()).unwrap()
    }
}

#[async_trait]
impl Changing for Amqp {
    async fn rotate(&mut self, name: &str) {
        let password = format!("another of {name}");
        let user = json!({ "password": password, "tags": "" });
        let path = ["users", &format!("n1.{name}")];
        self.server.server().management().put(&path, &user).await.unwrap();
        self.rotated.insert(name.to_owned(), password);
        self.cut(name).await;
    }

    async fn cut(&self, name: &str) {
        let user = format!("n1.{name}");
        let asked = ["close_all_user_connections", &user, "a test ends them"];
        self.server.server().control(&asked).await.unwrap();
    }
}
