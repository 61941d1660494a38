//! A server of its own for each test, and a plain client that asks it.

use std::env;
use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, HeaderMap, Request};
use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::administration::{Admin, StreamSettings};
use crate::api::Api;
use crate::pub_ack::{NoAck, PubAck, pub_ack};

/// Names the program.
const PROGRAM: &str = "MESH_NATS_SERVER";

/// Gone with its folder when it is dropped.
pub(super) struct Server {
    child: Child,
    folder: PathBuf,
    url: String,
}

impl Server {
    pub(super) async fn start() -> Self {
        Self::with("").await
    }

    /// With these lines in its configuration.
    pub(super) async fn with(lines: &str) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let program = env::var_os(PROGRAM)
            .unwrap_or_else(|| panic!("{PROGRAM} must name the nats-server that tests start"));
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("mesh-admin-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let shown = folder.display();
        let config = format!(
            "listen: \"127.0.0.1:-1\"\nports_file_dir: \"{shown}\"\n\
             jetstream {{ store_dir: \"{shown}/js\", max_file_store: 16GB }}\n{lines}\n"
        );
        fs::write(folder.join("conf"), config).unwrap();
        let log = fs::File::create(folder.join("log")).unwrap();
        let child = Command::new(program)
            .arg("-c")
            .arg(folder.join("conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut server = Self { child, folder, url: String::new() };
        server.url = server.listening().await;
        server
    }

    /// Where it listens, once it does.
    async fn listening(&mut self) -> String {
        let file = self.folder.join(format!("nats-server_{}.ports", self.child.id()));
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let ports: Option<Value> =
                fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
            if let Some(url) = ports.as_ref().and_then(|ports| ports["nats"][0].as_str()) {
                return url.to_owned();
            }
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "the server does not listen; its log:\n{log}");
            assert!(self.child.try_wait().unwrap().is_none(), "the server ended; its log:\n{log}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(super) async fn client(&self) -> Client {
        ConnectOptions::new().connect(&self.url).await.unwrap()
    }

    pub(super) async fn client_of(&self, user: &str) -> Client {
        let options = ConnectOptions::with_user_and_password(user.to_owned(), user.to_owned());
        options.connect(&self.url).await.unwrap()
    }

    pub(super) async fn admin(&self) -> Admin<Plain> {
        Admin::new(Plain::new(self.client().await), StreamSettings::default())
    }

    /// A bare connection to look and to meddle with.
    pub(super) async fn hand(&self) -> Hand {
        Hand(self.client().await)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A server that ended by itself needs no end, and a folder that stays harms nobody.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
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
                async_nats::client::RequestErrorKind::NoResponders => ErrorKind::NoResponders,
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
        let request = Request::new().headers(headers).payload(body.into());
        pub_ack(&self.0.send_request(subject.to_owned(), request).await.unwrap().payload)
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
