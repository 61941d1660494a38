//! A server with an account for the state of one realm, or of several.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::credential::Login;
use mesh_core::manifest::Mesh;
use mesh_core::name::InstanceName;
use mesh_core::store::{BucketName, KeyValue, StoreError};
use mesh_testkit::fixtures::node;
use mesh_testkit::servers::nats::{Layout, NatsConfig, NatsServer, RawNats};
use mesh_testkit::state::{StateBed, StateHarness, StateHook};
use mesh_testkit::suite::StartError;
use mesh_transport_nats::{BucketSettings, NatsBucket, NatsOptions, NatsState, Target};

pub const BUCKETS: [&str; 3] = ["one", "two", "small"];
const BACKLOG: usize = 512;

pub struct Nats;

#[async_trait]
impl StateHarness for Nats {
    async fn start(&self) -> Result<Arc<dyn StateBed>, StartError> {
        Ok(Arc::new(Server::start().await?))
    }

    fn offers(&self, hook: StateHook) -> bool {
        matches!(hook, StateHook::Small | StateHook::Backlog | StateHook::TakeAway)
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }
}

pub struct Server {
    pub server: NatsServer,
    pub layout: Layout,
}

pub fn bucket(name: &str) -> BucketName {
    name.parse().unwrap()
}

pub fn small() -> BucketSettings {
    BucketSettings { max_bytes: 4096, max_value: 1024, ..BucketSettings::default() }
}

impl Server {
    /// Two realms, each with two gateways, `gw1` and `gw2`, and the buckets of its number 1 made.
    pub async fn start() -> Result<Self, StartError> {
        let mesh = Mesh::on_one_node(&node("n1"), [])?;
        let gateways = ["gw1", "gw2"].map(|name| InstanceName::new(name).unwrap());
        let layout = Layout::split(&mesh)?
            .with_state(1, &gateways, &BUCKETS.map(bucket))?
            .with_state(2, &gateways, &[bucket("one"), bucket("theirs")])?;
        Self::of(layout).await
    }

    pub async fn of(layout: Layout) -> Result<Self, StartError> {
        let config = NatsConfig::new().jetstream().with(layout.lines()?);
        let made = Self { server: NatsServer::launch(config).await?, layout };
        let administrator = made.connect("state.1.administrator").await?;
        for name in ["one", "two"] {
            administrator.create(&bucket(name), BucketSettings::default()).await?;
        }
        administrator.create(&bucket("small"), small()).await?;
        Ok(made)
    }

    pub async fn connect(&self, user: &str) -> Result<NatsState, StartError> {
        self.connect_at(user, self.server.address()).await
    }

    pub async fn connect_at(
        &self,
        user: &str,
        address: std::net::SocketAddr,
    ) -> Result<NatsState, StartError> {
        let user = self.layout.user(user).ok_or("no such user")?;
        let login = Login::new(user.name(), user.password().clone());
        let login = login.map_err(|problem| problem.to_string())?;
        let target = Target::insecure_loopback(address, login, user.principal.clone())?;
        let state = NatsState::connect(target, NatsOptions::default()).await?;
        Ok(state.with_backlog(BACKLOG).with_timeout(Duration::from_secs(3)))
    }

    /// The bucket `name`, through a connection of its own.
    pub async fn bucket(&self, user: &str, name: &str) -> Result<NatsBucket, StartError> {
        Ok(self.connect(user).await?.bucket(&bucket(name)).await?)
    }

    pub async fn refused(&self, user: &str, name: &str) -> StoreError {
        self.connect(user).await.unwrap().bucket(&bucket(name)).await.unwrap_err()
    }

    pub async fn raw(&self, user: &str) -> RawNats {
        let user = self.layout.user(user).unwrap();
        let mut raw = RawNats::connect(&self.server).await.unwrap();
        raw.login(user.name(), user.password().expose()).await.unwrap();
        raw
    }
}

#[async_trait]
impl StateBed for Server {
    async fn open(&self, bucket: &BucketName) -> Result<Arc<dyn KeyValue>, StartError> {
        Ok(Arc::new(self.bucket("state.1.gw1", bucket.as_str()).await?))
    }

    async fn open_small(&self, bucket: &BucketName) -> Result<Arc<dyn KeyValue>, StartError> {
        Ok(Arc::new(self.bucket("state.1.gw2", bucket.as_str()).await?))
    }

    fn backlog(&self) -> usize {
        BACKLOG
    }

    async fn take_away(&self) {
        self.server.kill().unwrap();
    }
}
