mod dead;
mod lost;
mod refused;

use std::num::NonZeroUsize;

use lapin::options::BasicPublishOptions;
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel};
use mesh_core::name::ConsumerName;
use mesh_core::port::{
    AppendOptions, Connection, ConsumeOptions, Deliveries, Delivery, DriftMode, Operation,
    ReceiveError,
};
use mesh_core::subject::Filter;
use mesh_core::topology::{ConsumerRef, StreamName, Topology};

use crate::AmqpOptions;
use crate::session::Session;
use crate::testing::{Bed, come, message, soon};

/// What `mail` consumes of the shop's, and of others.
async fn bed(consumes: &[&str]) -> Bed {
    let bed = Bed::new().await;
    let consumes: Vec<Filter> = consumes.iter().map(|text| filter(text)).collect();
    let (node, mail) = ("n1".parse().unwrap(), "mail".parse().unwrap());
    let topology = Topology::new().with_module(&node, &mail, &consumes).unwrap();
    let controller = bed.controller().await;
    let administration = controller.administration().unwrap();
    let drift = come(administration.assert(&topology, DriftMode::Report)).await.unwrap();
    assert_eq!(drift, []);
    bed
}

fn filter(text: &str) -> Filter {
    Filter::new(text).unwrap()
}

fn consumer(stream: StreamName, name: &str) -> ConsumerRef {
    ConsumerRef::new(stream, ConsumerName::new(name).unwrap())
}

fn of_mail() -> ConsumerRef {
    consumer(StreamName::Events, "n1_mail")
}

fn patterns(patterns: &[&str]) -> ConsumeOptions {
    let patterns = patterns.iter().map(|text| filter(text)).collect();
    ConsumeOptions { patterns, ..ConsumeOptions::default() }
}

fn in_flight(count: usize) -> ConsumeOptions {
    ConsumeOptions { in_flight: NonZeroUsize::new(count).unwrap(), ..ConsumeOptions::default() }
}

async fn read(connection: &Connection, of: ConsumerRef, options: ConsumeOptions) -> Deliveries {
    let consuming = connection.streams().unwrap().consume(of, options);
    come(consuming).await.unwrap()
}

async fn append(connection: &Connection, subject: &str, body: &str) {
    let streams = connection.streams().unwrap();
    come(streams.append(message(subject, body), AppendOptions::default())).await.unwrap();
}

/// The next delivery, which must have this body.
async fn next(deliveries: &mut Deliveries, body: &str) -> Delivery {
    let delivery = come(deliveries.next()).await.unwrap().unwrap();
    assert_eq!(delivery.message().payload(), body.as_bytes());
    delivery
}

async fn told(deliveries: &mut Deliveries) -> ReceiveError {
    come(deliveries.next()).await.unwrap().unwrap_err()
}

async fn ack(delivery: Delivery) {
    come(delivery.ack()).await.unwrap();
}

/// The bare client, as `n1.mail`.
struct Bare {
    session: std::sync::Arc<Session>,
    channel: Channel,
}

impl Bare {
    async fn connect(bed: &Bed) -> Self {
        let target = bed.target("n1.mail");
        let session = Session::open(1, &target, &AmqpOptions::default()).await.unwrap();
        let channel = session.reading_channel(Operation::Publish, soon()).await.unwrap();
        Self { session, channel }
    }

    /// Publishes an event, whatever its headers.
    async fn event(&self, key: &str, body: &str, headers: &[(&str, AMQPValue)], user: bool) {
        let mut table = FieldTable::default();
        for (name, value) in headers {
            table.insert((*name).into(), value.clone());
        }
        let mut properties = BasicProperties::default().with_headers(table).with_delivery_mode(2);
        if user {
            properties = properties.with_user_id(self.session.user.clone());
        }
        let options = BasicPublishOptions::default();
        let exchange = "mesh.events".into();
        let publishing =
            self.channel.basic_publish(exchange, key.into(), options, body.as_bytes(), properties);
        come(publishing).await.unwrap();
    }
}

fn text(text: &str) -> AMQPValue {
    AMQPValue::LongString(text.into())
}
