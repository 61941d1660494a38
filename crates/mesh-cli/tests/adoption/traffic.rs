//! The mesh's own traffic over AMQP, which goes on whatever is done with the bus.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mesh_core::identity::{Principal, Responder};
use mesh_core::manifest::Mesh;
use mesh_core::message::{Headers, Message};
use mesh_core::name::ConsumerName;
use mesh_core::port::{AppendOptions, Connection, ConsumeOptions, DriftMode, ServeOptions};
use mesh_core::subject::Subject;
use mesh_core::topology::{ConsumerRef, StreamName};
use mesh_testkit::servers::rabbit::{Layout, MeshServer};
use mesh_transport_amqp::{AmqpOptions, Target, connect};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const LONG: Duration = Duration::from_secs(60);

/// Events and calls between the nodes of a mesh, without a pause.
pub(crate) struct Traffic {
    pub(crate) server: MeshServer,
    ended: Arc<AtomicBool>,
    /// How many events were sent and calls answered.
    sending: JoinHandle<u64>,
    /// Each event that was heard, and how often in all.
    hearing: JoinHandle<(BTreeSet<u64>, u64)>,
    connections: Vec<Connection>,
}

async fn dial(server: &MeshServer, principal: &Principal) -> Connection {
    let user = server.layout().user_of(principal).unwrap();
    let target = Target::of(&server.credential(user).unwrap()).unwrap();
    connect(target, AmqpOptions::default()).await.unwrap()
}

impl Traffic {
    /// Raises a RabbitMQ for the mesh, and lets `mail` on n1 and `audit` on n2 talk over it.
    pub(crate) async fn begin(mesh: &Mesh) -> Self {
        let server = MeshServer::launch(Layout::of(mesh).unwrap()).await.unwrap();
        let controller = dial(&server, server.layout().users()[0].principal()).await;
        let topology = mesh.topology().unwrap();
        controller.administration().unwrap().assert(&topology, DriftMode::Report).await.unwrap();
        let module = |node: &str, module: &str| Principal::Module {
            node: node.parse().unwrap(),
            module: module.parse().unwrap(),
        };
        let mail = dial(&server, &module("n1", "mail")).await;
        let audit = dial(&server, &module("n2", "audit")).await;
        let tool = Subject::new("mesh.tools.mail.count").unwrap();
        let mut calls = mail
            .requests()
            .unwrap()
            .serve(tool.clone().into(), ServeOptions::default())
            .await
            .unwrap();
        tokio::spawn(async move {
            while let Some(Ok(call)) = calls.next().await {
                let body = call.message().payload().clone();
                call.answer(Headers::default(), body).await.unwrap();
            }
        });
        let ended = Arc::new(AtomicBool::new(false));
        let name = ConsumerName::new("n2_audit").unwrap();
        let consumer = ConsumerRef::new(StreamName::Events, name);
        let heard = audit.streams().unwrap().consume(consumer, ConsumeOptions::default());
        let mut heard = heard.await.unwrap();
        let hearing = tokio::spawn(async move {
            let (mut all, mut count) = (BTreeSet::new(), 0);
            loop {
                let delivery = timeout(LONG, heard.next()).await.unwrap().unwrap().unwrap();
                let body = String::from_utf8(delivery.message().payload().to_vec()).unwrap();
                delivery.ack().await.unwrap();
                if let Some(sent) = body.strip_prefix("last ") {
                    let sent: u64 = sent.parse().unwrap();
                    assert_eq!(sent, all.len() as u64, "an event was lost");
                    return (all, count);
                }
                count += 1;
                all.insert(body.parse().unwrap());
            }
        });
        let (stop, streams) = (Arc::clone(&ended), mail.clone());
        let asking = audit.clone();
        let sending = tokio::spawn(async move {
            let event = Subject::new("mesh.events.mail.sent").unwrap();
            let mut sent = 0;
            let send = async |body: String| {
                let message = Message::new(event.clone(), body);
                streams.streams().unwrap().append(message, AppendOptions::default()).await.unwrap();
            };
            while !stop.load(Ordering::Relaxed) {
                send(sent.to_string()).await;
                let question = Message::new(tool.clone(), sent.to_string());
                let mail = Responder::Module("mail".parse().unwrap());
                let answer =
                    asking.requests().unwrap().request(mail, question, LONG).await.unwrap();
                assert_eq!(answer.payload(), sent.to_string().as_bytes());
                sent += 1;
            }
            send(format!("last {sent}")).await;
            sent
        });
        Self { server, ended, sending, hearing, connections: vec![controller, mail, audit] }
    }

    /// Stops, and says how many events were sent, each of which was heard.
    pub(crate) async fn end(self) -> u64 {
        self.ended.store(true, Ordering::Relaxed);
        let sent = timeout(LONG, self.sending).await.unwrap().unwrap();
        let (heard, count) = timeout(LONG, self.hearing).await.unwrap().unwrap();
        assert_eq!(heard, (0..sent).collect());
        assert_eq!(count, sent, "an event was heard twice");
        for connection in self.connections {
            connection.transport().close(LONG).await;
        }
        sent
    }
}
