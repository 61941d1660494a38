//! A nats-server in the split layout. A claim ends after 3 s and not 30: so long does an event rest whose
//! reader was killed. All else is the protocol's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::message::Message;
use mesh_core::port::{
    AppendOptions, Appended, Connection, ConsumeOptions, Deliveries, DriftMode, Streams,
    TransportError,
};
use mesh_core::topology::{ConsumerRef, ConsumerRules, ConsumerSpec, StreamName};
use mesh_testkit::servers::nats::{Layout, MeshServer};
use mesh_transport_nats::{NatsOptions, Source, connect};

use crate::ground::{Ground, consumer, mesh};

pub(crate) struct Nats {
    controller: Connection,
    _server: MeshServer,
}

fn rules() -> ConsumerRules {
    let rules = ConsumerRules::of(StreamName::Events);
    ConsumerRules { ack_wait: Duration::from_secs(3), max_ack_pending: 200, ..rules }
}

#[async_trait]
impl Ground for Nats {
    const NAME: &'static str = "nats";

    async fn raise(folder: &Path) -> Self {
        let server = MeshServer::launch(Layout::split(&mesh()).unwrap()).await.unwrap();
        for (user, file) in
            [("controller", "controller"), ("mail.n1", "mail"), ("audit.n1", "audit")]
        {
            let document = server.credential(user).unwrap().to_document().unwrap();
            std::fs::write(folder.join(file), document.expose()).unwrap();
        }
        let controller = connect(Source::file(folder.join("controller")), NatsOptions::default());
        let controller = controller.await.unwrap();
        let topology = mesh().topology().unwrap();
        let spec = topology.consumer(&consumer()).unwrap().clone();
        let topology = topology.with_consumer(ConsumerSpec { rules: rules(), ..spec });
        let administration = controller.administration().unwrap();
        administration.assert(&topology, DriftMode::Report).await.unwrap();
        Self { controller, _server: server }
    }

    fn controller(&self) -> &Connection {
        &self.controller
    }

    async fn dial(credential: &Path) -> Connection {
        let connection = connect(Source::file(credential), NatsOptions::default()).await.unwrap();
        let streams = Ruled(Arc::clone(connection.streams().unwrap()));
        let (clock, transport) = (connection.clock(), connection.transport());
        let principal = connection.principal().clone();
        Connection::new(principal, Arc::clone(clock), Arc::clone(transport))
            .with_streams(Arc::new(streams))
    }
}

/// Reads by the consumer's rules and not by those of the protocol.
#[derive(Debug)]
struct Ruled(Arc<dyn Streams>);

#[async_trait]
impl Streams for Ruled {
    async fn append(
        &self,
        message: Message,
        options: AppendOptions,
    ) -> Result<Appended, TransportError> {
        self.0.append(message, options).await
    }

    async fn consume(
        &self,
        consumer: ConsumerRef,
        options: ConsumeOptions,
    ) -> Result<Deliveries, TransportError> {
        self.0.consume(consumer, ConsumeOptions { rules: Some(rules()), ..options }).await
    }
}
