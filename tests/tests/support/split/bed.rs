//! The running server, and the ways in: with a credential, as every program of the mesh, or with a
//! client that checks nothing.

use std::error::Error;
use std::time::Duration;

use mesh_core::credential::{BrokerUrl, Credential, Fingerprint};
use mesh_core::port::{Connection, DriftMode};
use mesh_core::time::Timestamp;
use mesh_core::topology::Topology;
use mesh_testkit::servers::Certificate;
use mesh_testkit::servers::nats::{Layout, NatsConfig, NatsServer, RawNats, User};
use mesh_transport_nats::{DeadLetterKeeper, NatsOptions, Target, connect};

use super::mesh::{composed, layout};
use super::{Isolation, Setup};

pub type Started<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// How long one thing may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A server with the users, streams and consumers of the small mesh.
pub struct Bed {
    pub server: NatsServer,
    pub layout: Layout,
    pub setup: Setup,
    /// The controller's connection beside the streams.
    pub controller: Connection,
    /// What its configuration has besides the layout.
    base: NatsConfig,
}

impl Bed {
    pub async fn split() -> Started<Self> {
        Self::start(Setup::split()).await
    }

    pub async fn start(setup: Setup) -> Started<Self> {
        Self::with(setup, |topology| topology).await
    }

    /// The same with other streams and consumers.
    pub async fn with(setup: Setup, change: impl Fn(Topology) -> Topology) -> Started<Self> {
        let layout = layout(&setup)?;
        let base = base(&setup)?;
        let server = NatsServer::launch(base.clone().with(layout.lines()?)).await?;
        let controller = dial(&server, user(&layout, "controller")).await?;
        let topology = change(composed(&setup, &[])?.topology().clone());
        controller.administration()?.assert(&topology, DriftMode::Report).await?;
        Ok(Self { server, layout, setup, controller, base })
    }

    /// The user of that name. In one account the controller has one user.
    pub fn user(&self, name: &str) -> &User {
        user(&self.layout, name)
    }

    pub fn is_split(&self) -> bool {
        self.setup.isolation == Isolation::Split
    }

    /// Dials as that user, with a credential: over TLS, with the pinned certificate.
    pub async fn connect(&self, name: &str) -> Started<Connection> {
        dial(&self.server, self.user(name)).await
    }

    /// Logs in as that user, with a client that sends anything.
    pub async fn raw(&self, name: &str) -> Started<RawNats> {
        self.raw_as(self.user(name)).await
    }

    /// Logs in as a user that may be in the layout no more.
    pub async fn raw_as(&self, user: &User) -> Started<RawNats> {
        let mut raw = RawNats::connect(&self.server).await?;
        raw.login(user.name(), user.password().expose()).await?;
        Ok(raw)
    }

    /// Makes this the layout of the running server.
    pub async fn reload(&mut self, layout: Layout) -> Started<()> {
        self.server.reload(self.base.clone().with(layout.lines()?)).await?;
        self.layout = layout;
        Ok(())
    }

    /// Makes dead letters of the server's notices.
    pub async fn keep_dead_letters(&self) -> Started<DeadLetterKeeper> {
        Ok(DeadLetterKeeper::start(&self.controller, Timestamp::from_millis(1)).await?)
    }
}

#[expect(clippy::panic, reason = "a name that a test misspells must stop it")]
fn user<'a>(layout: &'a Layout, name: &str) -> &'a User {
    let found = layout.user(name).or_else(|| match name {
        "controller-edge" => layout.user("controller"),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no user {name}"))
}

fn base(setup: &Setup) -> Started<NatsConfig> {
    let config = NatsConfig::new()
        .tls(Certificate::local()?)
        .jetstream()
        .with(format!("max_connections: {}", setup.connections * 4))
        .with(format!("max_subscriptions: {}", setup.subscriptions * 4));
    // Older servers don't know the flag, and refuse a file that has it.
    let config = if setup.second_form {
        config.with("feature_flags { js_ack_fc_v2: true }")
    } else {
        config
    };
    Ok(if setup.strict { config } else { config.lenient() })
}

/// As every program of the mesh does: by a document that it was sent.
async fn dial(server: &NatsServer, user: &User) -> Started<Connection> {
    let url: BrokerUrl = server.url_of(user.name(), user.password().expose()).parse()?;
    let pin: Fingerprint = server.fingerprint().ok_or("no TLS")?.parse()?;
    let credential = Credential::new(user.principal.clone(), url, pin.into())?;
    Ok(connect(Target::of(&credential)?, NatsOptions::default()).await?)
}
