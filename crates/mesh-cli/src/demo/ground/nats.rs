use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::identity::Principal;
use mesh_core::manifest::Mesh;
use mesh_core::port::{Connection, DriftMode};
use mesh_core::topology::Topology;
use mesh_transport_nats::{DeadLetterKeeper, NatsOptions, Target, connect};

use super::Ground;
use super::credentials::{self, CONTROLLER, Credentials};
use super::memory::backbone_in_process;
use crate::demo::DemoError;
use crate::demo::federation::GATEWAYS;
use crate::demo::story::{count, list};

/// How long a server may take to let one in: it is on this machine, or somebody waits for it.
const CONNECT: Duration = Duration::from_secs(5);

/// A nats-server, with a user for everybody.
pub(super) struct Nats {
    credentials: Credentials,
    topology: Topology,
    controller: Connection,
    /// Makes dead letters of what the server says that consumers gave up.
    _keeper: DeadLetterKeeper,
    place: String,
    /// The server, where it was started for the demo.
    own: Option<Own>,
}

/// Ends the server when it is dropped.
pub(super) type Own = Box<dyn Send + Sync>;

impl Nats {
    /// The server that the credentials in `folder` lead to.
    pub(super) async fn given(folder: &Path, mesh: &Mesh) -> Result<Self, DemoError> {
        Self::reach(Credentials::read(folder, mesh)?, mesh, None).await
    }

    /// Connects as the controller, and makes the server hold the mesh's topology.
    pub(super) async fn reach(
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
        let keeper = DeadLetterKeeper::start(&controller, controller.clock().now()).await?;
        let server = controller.broker().unwrap_or("a server of unknown make");
        let place = format!("on {server} at {address}");
        Ok(Self { credentials, topology, controller, _keeper: keeper, place, own })
    }
}

fn known(credentials: &Credentials, name: &str) -> Result<Target, DemoError> {
    let target = credentials.target(name);
    target.cloned().ok_or_else(|| DemoError::NoCredential(name.to_owned()))
}

/// Connects with the credential of this name, once.
async fn dial(credentials: &Credentials, name: &str) -> Result<Connection, DemoError> {
    let target = known(credentials, name)?;
    let options = NatsOptions { connect_timeout: CONNECT, ..NatsOptions::default() };
    let failed = |error| DemoError::Connect { credential: name.to_owned(), error };
    connect(target, options).await.map_err(failed)
}

#[async_trait]
impl Ground for Nats {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn about(&self) -> Option<&'static str> {
        Some(match self.own {
            Some(_) => {
                "The server was started for it. Its streams are in an account with the controller, modules and people are in another, gateways of realms in a third."
            }
            None => "Realms meet on a backbone in this process.",
        })
    }

    fn controller(&self) -> &Connection {
        &self.controller
    }

    async fn connect(&self, principal: &Principal) -> Result<Connection, DemoError> {
        dial(&self.credentials, &credentials::name_of(principal)).await
    }

    fn widens(&self) -> bool {
        self.own.is_some()
    }

    fn proves_callers(&self) -> bool {
        false
    }

    async fn backbone(&self) -> Result<(Connection, Connection), DemoError> {
        if self.own.is_none() {
            return backbone_in_process();
        }
        let [ours, theirs] = GATEWAYS.map(|name| format!("gateway.{name}"));
        Ok((dial(&self.credentials, &ours).await?, dial(&self.credentials, &theirs).await?))
    }

    async fn end(self: Box<Self>) -> Option<String> {
        match self.own {
            Some(own) => {
                drop(own);
                Some("The nats-server has ended, and what it stored is gone.".to_owned())
            }
            None => {
                let streams = list(self.topology.streams().iter().map(|stream| stream.name));
                let consumers = count(self.topology.consumers().len(), "consumer");
                Some(format!(
                    "On the server are left: the streams {streams}; {consumers}; and the events and dead letters of this run."
                ))
            }
        }
    }
}
