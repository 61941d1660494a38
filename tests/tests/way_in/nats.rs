//! A nats-server in the split layout.

use async_trait::async_trait;
use mesh_core::credential::Credential;
use mesh_core::port::DriftMode;
use mesh_testkit::fixtures::module;
use mesh_testkit::servers::nats::{Layout, MeshServer, User};
use mesh_transport_nats::{NatsOptions, Target, connect};

use crate::{Changing, Ground, mesh};

pub(crate) struct Nats(MeshServer);

impl Nats {
    pub(crate) async fn raise() -> Self {
        let server = MeshServer::launch(Layout::split(&mesh()).unwrap()).await.unwrap();
        let target = Target::of(&server.credential("controller").unwrap()).unwrap();
        let controller = connect(target, NatsOptions::default()).await.unwrap();
        let topology = mesh().topology().unwrap();
        let administration = controller.administration().unwrap();
        administration.assert(&topology, DriftMode::Report).await.unwrap();
        Self(server)
    }
}

impl Ground for Nats {
    fn credential(&self, module: &str) -> Credential {
        self.0.credential(&format!("{module}.n1")).unwrap()
    }
}

#[async_trait]
impl Changing for Nats {
    /// Who has another password is sent away by the server.
    async fn rotate(&mut self, name: &str) {
        let user = self.0.layout().user_of(&module("n1", name)).unwrap().clone();
        let user = User::new(user.account, user.principal, user.permissions).unwrap();
        self.0.reload(self.0.layout().clone().with_user(user)).await.unwrap();
    }

    async fn cut(&self, _: &str) {
        self.0.server().restart().await.unwrap();
    }
}
