//! The broker in the process. It has no wire: what it hands on is what is captured.

use async_trait::async_trait;
use futures_util::FutureExt;
use mesh_core::manifest::Mesh;
use mesh_core::message::Message;
use mesh_core::permissions::Permissions;
use mesh_core::port::{Connection, Subscription};
use mesh_testkit::fixtures::{controller, filter, module};
use mesh_transport_mem::InMemoryMesh;

use crate::captured::{Captured, sorted};
use crate::module::Ground;
use crate::{PATIENCE, soon};

pub(crate) struct Memory {
    mesh: InMemoryMesh,
    tap: Connection,
    events: Subscription,
    calls: Subscription,
    answers: Subscription,
}

#[async_trait]
impl Ground for Memory {
    async fn raise(mesh: &Mesh) -> Self {
        let mesh = InMemoryMesh::raise(mesh.clone()).await.unwrap();
        let tap = mesh.broker().connect(controller(), Permissions::everything()).unwrap();
        let hear = async |text: &str| {
            tap.transport().subscribe(filter(text), Default::default()).await.unwrap()
        };
        let events = hear("mesh.events.>").await;
        let (calls, answers) = (hear("mesh.tools.mail.send").await, hear("_INBOX.>").await);
        Self { mesh, tap, events, calls, answers }
    }

    async fn connect(&self, name: &str) -> Connection {
        self.mesh.connect(module("n1", name)).unwrap()
    }

    async fn controller(&self) -> Connection {
        self.mesh.controller().clone()
    }

    async fn captured(mut self) -> Vec<Captured> {
        soon(self.tap.transport().flush(PATIENCE)).await.unwrap();
        sorted(all(&mut self.events), all(&mut self.calls), all(&mut self.answers))
    }
}

fn all(subscription: &mut Subscription) -> Vec<Captured> {
    let mut all = Vec::new();
    while let Some(next) = subscription.next().now_or_never() {
        all.push(captured(&next.unwrap().unwrap()));
    }
    all
}

fn captured(message: &Message) -> Captured {
    let subject = message.subject().as_str();
    let what = if subject.starts_with("_INBOX.") { "an answer" } else { subject };
    let headers = message.headers().entries();
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_string()));
    Captured::new(what, headers, message.payload().to_vec())
}
