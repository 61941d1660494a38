//! A publisher who writes what no client library would, and readers who go on all the same.

use futures_util::io::{AsyncReadExt, AsyncWriteExt};
use mesh_core::name::ConsumerName;
use mesh_core::port::{ConsumeOptions, ReceiveError, SubscribeOptions};
use mesh_core::subject::Filter;
use mesh_core::topology::{ConsumerRef, StreamName};
use serde_json::json;

use super::super::{Stream, reach};
use crate::Target;
use crate::testing::{Bed, PASSWORD, come};

/// A connection that is written by hand.
struct Hostile(Stream, #[allow(dead_code, reason = "held open")] super::super::Plug);

fn short(text: &[u8]) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text].concat()
}

fn long(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}

/// Headers that hold one value under a name, with the mark of the property.
fn headers(name: &[u8], value: &[u8]) -> Vec<u8> {
    [&[0x20, 0][..], &long(&[&short(name), value].concat())].concat()
}

/// Arrays in arrays.
fn nested(depth: usize) -> Vec<u8> {
    (0..depth)
        .rev()
        .flat_map(|left| [&b"A"[..], &u32::try_from(left * 5).unwrap().to_be_bytes()].concat())
        .collect()
}

impl Hostile {
    async fn log_in(target: &Target, user: &str, host: &str) -> Self {
        let pinned = mesh_tls::client_config(target.pinned()).unwrap();
        let (stream, plug) = reach(target, pinned).await.unwrap_or_else(|_| panic!("no stream"));
        let mut this = Self(stream, plug);
        this.0.write_all(b"AMQP\0\0\x09\x01").await.unwrap();
        this.hear([10, 10]).await;
        let login = format!("\0{user}\0{PASSWORD}");
        let parts = [long(b""), short(b"PLAIN"), long(login.as_bytes()), short(b"en_US")];
        this.method(0, [10, 11], &parts.concat()).await;
        this.hear([10, 30]).await;
        this.method(0, [10, 31], &[7, 255, 0, 2, 0, 0, 0, 0]).await;
        this.method(0, [10, 40], &[short(host.as_bytes()), vec![0, 0]].concat()).await;
        this.hear([10, 41]).await;
        this.method(1, [20, 10], &[0]).await;
        this.hear([20, 11]).await;
        this
    }

    async fn frame(&mut self, kind: u8, channel: u8, payload: &[u8]) {
        let frame = [&[kind, 0, channel], &long(payload)[..], &[0xce]].concat();
        self.0.write_all(&frame).await.unwrap();
        self.0.flush().await.unwrap();
    }

    async fn method(&mut self, channel: u8, [class, method]: [u8; 2], arguments: &[u8]) {
        self.frame(1, channel, &[&[0, class, 0, method], arguments].concat()).await;
    }

    /// The next frame must be that method.
    async fn hear(&mut self, [class, method]: [u8; 2]) {
        let mut head = [0; 7];
        come(self.0.read_exact(&mut head)).await.unwrap();
        let size = u32::from_be_bytes(head[3..].try_into().unwrap());
        let mut payload = vec![0; usize::try_from(size).unwrap() + 1];
        come(self.0.read_exact(&mut payload)).await.unwrap();
        let said = String::from_utf8_lossy(&payload);
        assert_eq!(payload[..4], [0, class, 0, method], "{said}");
    }

    /// Publishes an empty body with these properties.
    async fn publish(&mut self, exchange: &str, key: &[u8], properties: &[u8]) {
        let arguments = [vec![0, 0], short(exchange.as_bytes()), short(key), vec![0]].concat();
        self.method(1, [60, 40], &arguments).await;
        self.frame(2, 1, &[&[0, 60, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], properties].concat()).await;
    }

    /// Returns when the broker has taken all.
    async fn done(&mut self) {
        self.method(1, [20, 40], &[0, 200, 0, 0, 0, 0, 0]).await;
        self.hear([20, 41]).await;
    }

    /// All that a client library could stumble over, on one exchange, and then what is in order.
    async fn attack(&mut self, exchange: &str, key: &str) {
        let key = key.as_bytes();
        self.publish(exchange, key, &headers(b"x", &nested(20_000))).await;
        self.publish(exchange, key, &headers(b"\xff\xfe", b"V")).await;
        self.publish(exchange, key, &[&[0x80, 0][..], &short(b"\xff")].concat()).await;
        let user = [&[0, 0x10][..], &short(b"n1.mail")].concat();
        self.publish(exchange, &[key, &b"\xff"[..]].concat(), &user).await;
        self.publish(exchange, key, &user).await;
        self.done().await;
    }
}

#[tokio::test]
async fn a_durable_reader_outlives_what_the_client_library_cannot_read() {
    let bed = Bed::new().await;
    bed.exchange("mesh.events").await;
    bed.queue("n1.mail.events", json!({ "x-queue-type": "quorum" })).await;
    bed.bind("mesh.events", "n1.mail.events", "#").await;
    let mail = bed.connect("n1.mail").await;
    let consumer = ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_mail").unwrap());
    let reading = mail.streams().unwrap().consume(consumer, ConsumeOptions::default());
    let mut deliveries = come(reading).await.unwrap();
    let mut hostile = Hostile::log_in(&bed.target("n1.mail"), "n1.mail", bed.host.name()).await;
    hostile.attack("mesh.events", "mail.sent").await;
    for number in 0..4 {
        match come(deliveries.next()).await.unwrap() {
            Err(ReceiveError::Refused { .. } | ReceiveError::Lagged { .. }) => {}
            other => panic!("{number}: {other:?}"),
        }
    }
    let last = come(deliveries.next()).await.unwrap().unwrap();
    assert_eq!(last.info().attempt, 1, "nothing came again");
    last.ack().await.unwrap();
}

#[tokio::test]
async fn a_subscription_outlives_what_the_client_library_cannot_read() {
    let bed = Bed::new().await;
    bed.exchange("mesh.live").await;
    let mail = bed.connect("n1.mail").await;
    let filter = Filter::new("test.>").unwrap();
    let subscribing = mail.transport().subscribe(filter, SubscribeOptions::default());
    let mut heard = come(subscribing).await.unwrap();
    let mut hostile = Hostile::log_in(&bed.target("n1.mail"), "n1.mail", bed.host.name()).await;
    hostile.attack("mesh.live", "test.a").await;
    for number in 0..3 {
        match come(heard.next()).await.unwrap() {
            Err(ReceiveError::Refused { .. }) => {}
            other => panic!("{number}: {other:?}"),
        }
    }
    // A key that is none is counted, and not told.
    assert_eq!(come(heard.next()).await.unwrap().unwrap().subject().as_str(), "test.a");
}
