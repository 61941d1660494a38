//! The running server, and the ways in: with a credential, as every program of the mesh, or with a
//! client that checks nothing.

use std::error::Error;
use std::time::Duration;

use mesh_core::credential::{BrokerUrl, Credential, Fingerprint, Login, Secret};
use mesh_core::port::{Connection, DriftMode};
use mesh_core::time::Timestamp;
use mesh_core::topology::Topology;
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer, RawNats};
use mesh_transport_nats::{DeadLetterKeeper, NatsOptions, Target, connect};

use super::compose::compose;
use super::{Isolation, Layout, Mesh};

pub type Started<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How long one thing may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A server with the users, streams and consumers of [`Mesh::sample`].
pub struct Bed {
    pub server: NatsServer,
    pub mesh: Mesh,
    pub layout: Layout,
    /// The controller's connection beside the streams.
    pub controller: Connection,
}

impl Bed {
    pub async fn split() -> Started<Self> {
        Self::start(Layout::split()).await
    }

    pub async fn start(layout: Layout) -> Started<Self> {
        Self::with(layout, |topology| topology).await
    }

    /// The same with other streams and consumers.
    pub async fn with(layout: Layout, change: impl Fn(Topology) -> Topology) -> Started<Self> {
        let mesh = Mesh::sample(layout.isolation)?;
        let composed = (layout.clone(), mesh.clone());
        let config = NatsConfig::composed(move |place| compose(&composed.0, &composed.1, place))
            .tls(Certificate::local()?);
        let server = NatsServer::launch(config).await?;
        let controller = dial(&server, &mesh, "controller").await?;
        let topology = change(mesh.topology()?);
        controller.administration()?.assert(&topology, DriftMode::Report).await?;
        Ok(Self { server, mesh, layout, controller })
    }

    pub fn is_split(&self) -> bool {
        self.layout.isolation == Isolation::Split
    }

    /// Dials as that user, with a credential: over TLS, with the pinned certificate.
    pub async fn connect(&self, name: &str) -> Started<Connection> {
        dial(&self.server, &self.mesh, name).await
    }

    /// Logs in as that user, with a client that sends anything.
    pub async fn raw(&self, name: &str) -> Started<RawNats> {
        let user = self.mesh.user(name);
        let mut raw = RawNats::connect(&self.server).await?;
        raw.login(user.name, &user.password()).await?;
        Ok(raw)
    }

    /// Makes dead letters of the server's notices.
    pub async fn keep_dead_letters(&self) -> Started<DeadLetterKeeper> {
        Ok(DeadLetterKeeper::start(&self.controller, Timestamp::from_millis(1)).await?)
    }
}

/// What the user of that name would be sent.
pub fn credential(server: &NatsServer, mesh: &Mesh, name: &str) -> Started<Credential> {
    let user = mesh.user(name);
    let url: BrokerUrl = server.url_of(user.name, &user.password()).parse()?;
    let pin: Fingerprint = server.fingerprint().ok_or("no TLS")?.parse()?;
    Ok(Credential::new(user.principal.clone(), url, pin.into())?)
}

async fn dial(server: &NatsServer, mesh: &Mesh, name: &str) -> Started<Connection> {
    let target = Target::of(&credential(server, mesh, name)?)?;
    Ok(connect(target, NatsOptions::default()).await?)
}
