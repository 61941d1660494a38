//! A RabbitMQ whose accounts declare nothing.

use std::path::Path;

use async_trait::async_trait;
use mesh_core::port::{Connection, DriftMode};
use mesh_testkit::servers::rabbit::{Layout, MeshServer};
use mesh_transport_amqp::{AmqpOptions, Source, connect};

use crate::ground::{Ground, mesh};

pub(crate) struct Amqp {
    controller: Connection,
    _server: MeshServer,
}

#[async_trait]
impl Ground for Amqp {
    const NAME: &'static str = "amqp";

    async fn raise(folder: &Path) -> Self {
        let server = MeshServer::launch(Layout::of(&mesh()).unwrap()).await.unwrap();
        for user in server.layout().users() {
            let document = server.credential(user).unwrap().to_document().unwrap();
            let name = user.name().trim_start_matches("n1.");
            std::fs::write(folder.join(name), document.expose()).unwrap();
        }
        let controller = Self::dial(&folder.join("substrate")).await;
        let administration = controller.administration().unwrap();
        let topology = mesh().topology().unwrap();
        administration.assert(&topology, DriftMode::Report).await.unwrap();
        Self { controller, _server: server }
    }

    fn controller(&self) -> &Connection {
        &self.controller
    }

    async fn dial(credential: &Path) -> Connection {
        connect(Source::file(credential), AmqpOptions::default()).await.unwrap()
    }
}
