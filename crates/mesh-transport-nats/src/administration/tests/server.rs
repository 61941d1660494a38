//! A server of its own for each test, and a plain client that asks it.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, HeaderMap, Request, RequestErrorKind};
use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::administration::{Admin, StreamSettings};
use crate::api::Api;
use crate::pub_ack::{NoAck, PubAck, pub_ack};

/// A server with JetStream.
pub(super) struct Server(NatsServer);

impl Server {
    pub(super) async fn start() -> Self {
        Self(NatsServer::launch(NatsConfig::new().jetstream()).await.unwrap())
    }

    pub(super) async fn client(&self) -> Client {
        client(&self.0).await
    }

    pub(super) async fn admin(&self) -> Admin<Plain> {
        Admin::new(Plain::new(self.client().await), StreamSettings::default())
    }

    /// A bare connection to look and to meddle with.
    pub(super) async fn hand(&self) -> Hand {
        Hand(self.client().await)
    }
}

/// A plain client of that server.
pub(super) async fn client(server: &NatsServer) -> Client {
    ConnectOptions::new().connect(server.address().to_string()).await.unwrap()
}

/// The API through a plain client. Remembers what was asked.
pub(super) struct Plain {
    client: Client,
    pub(super) asked: Mutex<Vec<String>>,
}

impl Plain {
    pub(super) fn new(client: Client) -> Self {
        Self { client, asked: Mutex::default() }
    }
}

#[async_trait]
impl Api for Plain {
    async fn call(
        &self,
        operation: Operation,
        subject: &str,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Bytes, TransportError> {
        self.asked.lock().push(subject.to_owned());
        let request = Request::new().payload(body.into()).timeout(Some(timeout));
        let answer = self.client.send_request(subject.to_owned(), request).await;
        answer.map(|message| message.payload).map_err(|error| {
            let kind = match error.kind() {
                RequestErrorKind::NoResponders => ErrorKind::NoResponders,
                _ => ErrorKind::TimedOut,
            };
            TransportError::new(kind, operation).about(subject)
        })
    }
}

/// Somebody who does things by hand.
pub(super) struct Hand(pub(super) Client);

impl Hand {
    /// What the API answers.
    pub(super) async fn ask(&self, subject: &str, body: Value) -> Value {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let answer = self.0.request(format!("$JS.API.{subject}"), body.into()).await.unwrap();
        serde_json::from_slice(&answer.payload).unwrap()
    }

    /// The same, which must not be an error.
    pub(super) async fn done(&self, subject: &str, body: Value) -> Value {
        let answer = self.ask(subject, body.clone()).await;
        assert!(answer["error"].is_null(), "{subject} {body}: {answer}");
        answer
    }

    pub(super) async fn stream(&self, name: &str) -> Value {
        self.done(&format!("STREAM.INFO.{name}"), Value::Null).await
    }

    pub(super) async fn consumer(&self, stream: &str, name: &str) -> Value {
        self.done(&format!("CONSUMER.INFO.{stream}.{name}"), Value::Null).await
    }

    pub(super) async fn change_stream(&self, name: &str, changes: &Value) {
        let config = changed(&self.stream(name).await["config"], changes);
        self.done(&format!("STREAM.UPDATE.{name}"), config).await;
    }

    pub(super) async fn change_consumer(&self, stream: &str, name: &str, changes: &Value) {
        let config = changed(&self.consumer(stream, name).await["config"], changes);
        self.make_consumer("update", stream, name, config).await;
    }

    pub(super) async fn remake_consumer(&self, stream: &str, name: &str, changes: &Value) {
        let config = changed(&self.consumer(stream, name).await["config"], changes);
        self.done(&format!("CONSUMER.DELETE.{stream}.{name}"), Value::Null).await;
        self.make_consumer("create", stream, name, config).await;
    }

    pub(super) async fn make_consumer(
        &self,
        action: &str,
        stream: &str,
        name: &str,
        config: Value,
    ) {
        let body = json!({ "stream_name": stream, "action": action, "config": config });
        self.done(&format!("CONSUMER.CREATE.{stream}.{name}"), body).await;
    }

    /// Publishes to a stream, and reads what it answers.
    pub(super) async fn append(
        &self,
        subject: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes> + Send,
    ) -> Result<PubAck, NoAck> {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), (*value).into())).collect();
        let body = body.into();
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let request = Request::new().headers(headers.clone()).payload(body.clone());
            match self.0.send_request(subject.to_owned(), request).await {
                // In a cluster the other servers hear of a stream a moment after it was made.
                Err(error)
                    if error.kind() == RequestErrorKind::NoResponders
                        && Instant::now() < deadline =>
                {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                answer => return pub_ack(&answer.unwrap().payload),
            }
        }
    }

    /// Appends these to a subject, each of which the server must have.
    pub(super) async fn append_all(&self, subject: &str, bodies: &[&str]) {
        for body in bodies {
            self.append(subject, &[], (*body).to_owned()).await.unwrap();
        }
    }
}

/// Waits until what is looked at is as expected: a server counts what a consumer has yet to get a
/// moment after it confirmed the append.
#[expect(clippy::future_not_send, reason = "a test waits for it where it is")]
pub(super) async fn settles<T: PartialEq + Debug>(mut look: impl AsyncFnMut() -> T, expected: &T) {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let found = look().await;
        if found == *expected || Instant::now() > deadline {
            return assert_eq!(found, *expected);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// `config` with changes; `null` takes a setting away.
pub(super) fn changed(config: &Value, changes: &Value) -> Value {
    let mut config = config.clone();
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(config.as_object_mut().unwrap().remove(key)),
            value => config[key] = value.clone(),
        }
    }
    config
}
