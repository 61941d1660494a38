//! A real nats-server with the state of one realm.

use std::time::Duration;

use mesh_core::credential::Login;
use mesh_core::manifest::Mesh;
use mesh_core::name::InstanceName;
use mesh_core::store::BucketName;
use mesh_testkit::fixtures::node;
use mesh_testkit::servers::nats::{Layout, NatsConfig, NatsServer};
use mesh_transport_nats::{BucketSettings, NatsBucket, NatsOptions, NatsState, Target};

pub struct Server {
    pub server: NatsServer,
    layout: Layout,
}

fn kept() -> BucketName {
    "kept".parse().unwrap()
}

impl Server {
    pub async fn start() -> Self {
        let mesh = Mesh::on_one_node(&node("n1"), []).unwrap();
        let gateways = ["gw1", "gw2"].map(|name| InstanceName::new(name).unwrap());
        let layout = Layout::split(&mesh).unwrap().with_state(1, &gateways, &[kept()]).unwrap();
        let config = NatsConfig::new().jetstream().with(layout.lines().unwrap());
        let server = Self { server: NatsServer::launch(config).await.unwrap(), layout };
        let administrator = server.connect("administrator").await;
        administrator.create(&kept(), BucketSettings::default()).await.unwrap();
        server
    }

    async fn connect(&self, who: &str) -> NatsState {
        let user = self.layout.user(&format!("state.1.{who}")).unwrap();
        let login = Login::new(user.name(), user.password().clone()).unwrap();
        let principal = user.principal.clone();
        let target = Target::insecure_loopback(self.server.address(), login, principal).unwrap();
        let options = NatsOptions { reconnect_max: Duration::from_millis(200), ..<_>::default() };
        NatsState::connect(target, options).await.unwrap().with_timeout(Duration::from_secs(1))
    }

    /// The bucket, as that gateway has it.
    pub async fn bucket(&self, who: &str) -> NatsBucket {
        self.connect(who).await.bucket(&kept()).await.unwrap()
    }

    /// Kills it and starts it again where it was.
    pub async fn crash(&self) {
        self.server.kill().unwrap();
        self.server.start().await.unwrap();
    }
}
