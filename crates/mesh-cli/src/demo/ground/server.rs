//! A broker that runs beside the demo, with a user for everybody.

use std::path::Path;

use async_trait::async_trait;
use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::port::{Connection, DriftMode};
use mesh_core::topology::Topology;
use mesh_transport_nats::DeadLetterKeeper;

use super::Ground;
use super::credentials::{self, BESIDE_MODULES, CONTROLLER, Credentials};
use super::memory::backbone_in_process;
use super::way::{CONNECT, Kind, Way};
use crate::demo::DemoError;
use crate::demo::federation::GATEWAYS;
use crate::demo::story::{count, list};

/// See the module.
pub(super) struct Server {
    kind: Kind,
    credentials: Credentials,
    topology: Topology,
    controller: Connection,
    /// Makes dead letters of what a nats-server says that consumers gave up. RabbitMQ makes them itself.
    _keeper: Option<DeadLetterKeeper>,
    place: String,
    /// The server, where it was started for the demo.
    own: Option<Own>,
}

/// Ends the server when it is dropped.
pub(super) type Own = Box<dyn Send + Sync>;

impl Server {
    /// The server that the credentials in `folder` lead to.
    pub(super) async fn given(kind: Kind, folder: &Path, mesh: &Mesh) -> Result<Self, DemoError> {
        Self::reach(kind, Credentials::read(kind, folder, mesh)?, mesh, None).await
    }

    /// Connects as the controller, and makes the server hold the mesh's topology.
    pub(super) async fn reach(
        kind: Kind,
        credentials: Credentials,
        mesh: &Mesh,
        own: Option<Own>,
    ) -> Result<Self, DemoError> {
        let address = known(&credentials, CONTROLLER)?.to_string();
        let controller = dial(&credentials, CONTROLLER).await?;
        let topology = mesh.topology()?;
        let administration = controller.administration()?;
        let drift = administration.assert(&topology, DriftMode::Report).await?;
        if !drift.is_empty() {
            controller.transport().close(CONNECT).await;
            return Err(DemoError::Drift { address, drift });
        }
        let keeper = match kind {
            Kind::Nats => {
                Some(DeadLetterKeeper::start(&controller, controller.clock().now()).await?)
            }
            Kind::Amqp => None,
        };
        let server = controller.broker().unwrap_or(match (kind, &own) {
            (Kind::Nats, _) => "a server of unknown make",
            // It doesn't say what it is.
            (Kind::Amqp, None) => "an AMQP broker",
            (Kind::Amqp, Some(_)) => "RabbitMQ",
        });
        let place = format!("on {server} at {address}");
        Ok(Self { kind, credentials, topology, controller, _keeper: keeper, place, own })
    }
}

fn known(credentials: &Credentials, name: &str) -> Result<Way, DemoError> {
    credentials.way(name).cloned().ok_or_else(|| DemoError::NoCredential(name.to_owned()))
}

/// Connects with the credential of this name, once.
async fn dial(credentials: &Credentials, name: &str) -> Result<Connection, DemoError> {
    let failed = |error| DemoError::Connect { credential: name.to_owned(), error };
    known(credentials, name)?.dial().await.map_err(failed)
}

#[async_trait]
impl Ground for Server {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn about(&self) -> Option<&'static str> {
        Some(match (&self.own, self.kind) {
            (Some(_), Kind::Amqp) => {
                "The broker was started for it. Nobody but the controller declares anything there, and gateways of realms meet in a virtual host of their own."
            }
            (Some(_), Kind::Nats) => {
                "The server was started for it. Its streams are in an account with the controller, modules and people are in another, gateways of realms in a third."
            }
            (None, _) => "Realms meet on a backbone in this process.",
        })
    }

    fn controller(&self) -> &Connection {
        &self.controller
    }

    async fn beside_modules(&self) -> Result<Connection, DemoError> {
        match self.credentials.way(BESIDE_MODULES) {
            Some(_) => dial(&self.credentials, BESIDE_MODULES).await,
            None => Ok(self.controller.clone()),
        }
    }

    async fn connect(&self, principal: &Principal) -> Result<Connection, DemoError> {
        dial(&self.credentials, &credentials::name_of(principal)).await
    }

    fn widens(&self) -> bool {
        self.own.is_some()
    }

    fn proves_callers(&self) -> bool {
        self.kind == Kind::Amqp
    }

    async fn backbone(&self) -> Result<(Connection, Connection), DemoError> {
        if self.own.is_none() {
            return backbone_in_process();
        }
        let [ours, theirs] = GATEWAYS.map(|name| format!("gateway.{name}"));
        Ok((dial(&self.credentials, &ours).await?, dial(&self.credentials, &theirs).await?))
    }

    async fn end(self: Box<Self>) -> Option<String> {
        if let Some(own) = self.own {
            drop(own);
            let what = match self.kind {
                Kind::Nats => "The nats-server",
                Kind::Amqp => "RabbitMQ",
            };
            return Some(format!("{what} has ended, and what it stored is gone."));
        }
        let consumers = self.topology.consumers();
        Some(match self.kind {
            Kind::Nats => {
                let streams = list(self.topology.streams().iter().map(|stream| stream.name));
                let consumers = count(consumers.len(), "consumer");
                format!(
                    "On the server are left: the streams {streams}; {consumers}; and the events and dead letters of this run."
                )
            }
            Kind::Amqp => {
                let queues: Vec<String> =
                    consumers.iter().flat_map(|of| of.reference.amqp_queues()).collect();
                format!(
                    "On the broker are left: the exchanges of the mesh; the queues {}; and the dead letters of this run.",
                    list(queues)
                )
            }
        })
    }
}
