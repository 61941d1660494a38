use std::sync::Arc;
use std::time::Duration;

use crate::fixtures::{consumer, consumer_spec, event, host, message, node};
use crate::suite::scene::text;
use crate::suite::{Failure, Scene, Stage, Verdict, ensure_eq, located};
use mesh_core::message::Message;
use mesh_core::port::{Administration, Appended, Connection, ConsumeOptions, Deliveries, Delivery};
use mesh_core::topology::{ConsumerRef, ConsumerSpec, DeliverFrom, StreamName, Topology};

/// A bed with events of the module `shop`, consumed by `mail` and `crm` in three tries, the dead
/// letters read by the controller, and the node `n1`.
pub(super) struct Desk {
    pub(super) scene: Scene,
    /// Of the module `shop`.
    pub(super) shop: Connection,
    /// Of the host of `n1`.
    pub(super) host: Connection,
}

impl Desk {
    /// With claims that run out after the harness's span.
    pub(super) async fn new(stage: &Stage<'_>) -> Result<Self, Failure> {
        Self::with(stage, topology(stage.span())).await
    }

    /// With claims that outlast any case.
    pub(super) async fn patient(stage: &Stage<'_>) -> Result<Self, Failure> {
        Self::with(stage, topology(stage.span() * 100)).await
    }

    pub(super) async fn with(stage: &Stage<'_>, topology: Topology) -> Result<Self, Failure> {
        let scene = stage.start(&topology).await?;
        let shop = scene.join("shop").await?;
        let host = scene.dial(host("n1"), None).await?;
        Ok(Self { scene, shop, host })
    }

    /// Appends one event for each body, in order.
    pub(super) async fn append_all(&self, bodies: &[&str]) -> Verdict {
        for body in bodies {
            self.append(sold(body)).await?;
        }
        Ok(())
    }

    pub(super) async fn append(&self, message: Message) -> Result<Appended, Failure> {
        self.scene.append(&self.shop, message).await
    }

    /// Appends a report of the node `n1`.
    pub(super) async fn report(&self, body: &str) -> Result<Appended, Failure> {
        self.scene.append(&self.host, report(body)).await
    }

    /// Reads the events of that module, on a connection of its own.
    pub(super) async fn reader(&self, module: &str) -> Result<(Connection, Deliveries), Failure> {
        self.reader_with(module, ConsumeOptions::default()).await
    }

    pub(super) async fn reader_with(
        &self,
        module: &str,
        options: ConsumeOptions,
    ) -> Result<(Connection, Deliveries), Failure> {
        let connection = self.scene.join(module).await?;
        let of = events_of(module);
        let deliveries = self.scene.consume_with(&connection, &of, options).await?;
        Ok((connection, deliveries))
    }

    /// Reads a consumer of the controller's.
    pub(super) async fn controllers(
        &self,
        stream: StreamName,
    ) -> Result<(Connection, Deliveries), Failure> {
        let connection = self.scene.controller().await?;
        let of = consumer(stream, "controller");
        let deliveries = self.scene.consume(&connection, &of).await?;
        Ok((connection, deliveries))
    }

    pub(super) async fn administration(&self) -> Result<Arc<dyn Administration>, Failure> {
        let controller = self.scene.controller().await?;
        Ok(Arc::clone(controller.administration()?))
    }

    /// The next delivery, which must have this body.
    #[track_caller]
    pub(super) fn expect(
        &self,
        reading: &mut Deliveries,
        body: &str,
    ) -> impl Future<Output = Result<Delivery, Failure>> + Send {
        located(async move {
            let delivery = self.scene.hear(reading).await?;
            ensure_eq!(text(delivery.message()), body, "the next delivery");
            Ok(delivery)
        })
    }

    /// The same while time passes.
    #[track_caller]
    pub(super) fn expect_passing(
        &self,
        reading: &mut Deliveries,
        body: &str,
    ) -> impl Future<Output = Result<Delivery, Failure>> + Send {
        located(async move {
            let hearing = self.scene.hear(reading);
            let delivery = self.scene.passing("a delivery", hearing).await??;
            ensure_eq!(text(delivery.message()), body, "the next delivery");
            Ok(delivery)
        })
    }

    /// As many deliveries as there are bodies, in any order, each acknowledged.
    #[track_caller]
    pub(super) fn expect_all(
        &self,
        reading: &mut Deliveries,
        bodies: &[&str],
    ) -> impl Future<Output = Verdict> + Send {
        located(async move {
            let mut found = Vec::new();
            for _body in bodies {
                let delivery = self.scene.hear(reading).await?;
                found.push(text(delivery.message()));
                self.ack(delivery).await?;
            }
            found.sort_unstable();
            ensure_eq!(found, bodies, "the deliveries");
            Ok(())
        })
    }

    #[track_caller]
    pub(super) fn ack(&self, delivery: Delivery) -> impl Future<Output = Verdict> + Send {
        located(async move { Ok(self.scene.soon("an acknowledgement", delivery.ack()).await??) })
    }

    /// Gives it back, and measures nothing.
    pub(super) async fn nak(&self, delivery: Delivery, delay: Option<Duration>) -> Verdict {
        Ok(self.scene.soon("a nak", delivery.nak(delay)).await??)
    }

    /// Acknowledges it and sees that the next is a message appended now.
    #[track_caller]
    pub(super) fn expect_only_the_sentinel(
        &self,
        reading: &mut Deliveries,
    ) -> impl Future<Output = Verdict> + Send {
        located(async move {
            self.append_all(&["sentinel"]).await?;
            let delivery = self.expect(reading, "sentinel").await?;
            self.ack(delivery).await
        })
    }
}

/// The event `sold` of the module `shop`.
pub(super) fn sold(body: &str) -> Message {
    Message::new(event("shop", "sold"), body.to_owned())
}

/// An event of the module `shop`.
pub(super) fn shop_event(name: &str, body: &str) -> Message {
    Message::new(event("shop", name), body.to_owned())
}

/// A report of the node `n1`.
pub(super) fn report(body: &str) -> Message {
    message("mesh.control.n1.report", body)
}

pub(super) fn events_of(module: &str) -> ConsumerRef {
    consumer(StreamName::Events, &format!("n1_{module}"))
}

pub(super) fn topology(ack_wait: Duration) -> Topology {
    let shop = ["mesh.events.shop.>"];
    let reading = |module| consumer_spec(events_of(module), &shop, ack_wait);
    let dead = consumer(StreamName::EventsDead, "controller");
    let dead = consumer_spec(dead, &["mesh.events.dead"], ack_wait);
    let topology = Topology::new()
        .with_node(&node("n1"))
        .with_node(&node("n2"))
        .with_consumer(reading("mail"))
        .with_consumer(reading("crm"))
        .with_consumer(dead);
    let work = topology.consumer(&consumer(StreamName::Control, "controller"));
    match work.cloned() {
        Some(mut spec) => {
            spec.rules.ack_wait = ack_wait;
            topology.with_consumer(spec)
        }
        None => topology,
    }
}

/// `topology` whose consumer of `mail` is changed.
pub(super) fn with_mail(topology: Topology, change: impl FnOnce(&mut ConsumerSpec)) -> Topology {
    let shop = ["mesh.events.shop.>"];
    let mut spec = match topology.consumer(&events_of("mail")) {
        Some(spec) => spec.clone(),
        None => consumer_spec(events_of("mail"), &shop, Duration::from_secs(30)),
    };
    spec.deliver_from = DeliverFrom::All;
    change(&mut spec);
    topology.with_consumer(spec)
}
