//! A nats-server in the split layout. A client that keeps nothing to itself listens in both accounts.

use async_trait::async_trait;
use mesh_core::manifest::Mesh;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Connection, DriftMode};
use mesh_core::topology::{StreamName, Topology};
use mesh_testkit::fixtures::controller;
use mesh_testkit::servers::nats::{Account, Layout, MeshServer, RawMessage, RawNats, User};
use mesh_transport_nats::{NatsOptions, Target, connect};
use tokio::sync::Mutex;

use crate::captured::{Captured, sorted};
use crate::module::Ground;

pub(crate) struct Nats {
    server: MeshServer,
    bus: Mutex<RawNats>,
    edge: Mutex<RawNats>,
}

#[async_trait]
impl Ground for Nats {
    async fn raise(mesh: &Mesh) -> Self {
        let tap = |name: &str, account| {
            User::named(name, account, controller(), Permissions::everything()).unwrap()
        };
        let layout = Layout::split(mesh)
            .unwrap()
            .with_user(tap("tap-bus", Account::Bus))
            .with_user(tap("tap-edge", Account::Edge));
        let server = MeshServer::launch(layout).await.unwrap();
        let controller = dial(&server, "controller").await;
        let topology: Topology = mesh.topology().unwrap();
        let administration = controller.administration().unwrap();
        administration.assert(&topology, DriftMode::Report).await.unwrap();
        assert!(topology.stream(StreamName::Events).is_some());
        let mut bus = server.raw("tap-bus").await.unwrap();
        bus.subscribe("mesh.events.>", None).await.unwrap();
        let mut edge = server.raw("tap-edge").await.unwrap();
        for place in ["mesh.tools.mail.send", "_INBOX.audit.n1.mail.>"] {
            edge.subscribe(place, None).await.unwrap();
        }
        for raw in [&mut bus, &mut edge] {
            assert!(raw.settle().await.unwrap().errors.is_empty());
        }
        Self { server, bus: Mutex::new(bus), edge: Mutex::new(edge) }
    }

    async fn connect(&self, module: &str) -> Connection {
        dial(&self.server, &format!("{module}.n1")).await
    }

    async fn controller(&self) -> Connection {
        dial(&self.server, "controller-edge").await
    }

    async fn captured(self) -> Vec<Captured> {
        let events = self.bus.into_inner().settle().await.unwrap().messages;
        let others = self.edge.into_inner().settle().await.unwrap().messages;
        let is_answer = |message: &RawMessage| message.subject.starts_with("_INBOX.");
        let (answers, calls): (Vec<_>, Vec<_>) = others.into_iter().partition(is_answer);
        let all = |messages: Vec<RawMessage>| messages.into_iter().map(captured).collect();
        sorted(all(events), all(calls), all(answers))
    }
}

async fn dial(server: &MeshServer, user: &str) -> Connection {
    let target = Target::of(&server.credential(user).unwrap()).unwrap();
    connect(target, NatsOptions::default()).await.unwrap()
}

/// What the server knows a message again by, and what it notes where a message passes from account to
/// account.
const SERVERS: [&str; 2] = ["Nats-Msg-Id", "Nats-Request-Info"];

/// Without the headers that are the server's.
fn captured(message: RawMessage) -> Captured {
    let answer = message.subject.starts_with("_INBOX.");
    let what = if answer { "an answer" } else { &message.subject };
    let headers = message.headers.into_iter().filter(|(name, _)| !SERVERS.contains(&&**name));
    Captured::new(what, headers, message.body)
}
