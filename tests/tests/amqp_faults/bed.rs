//! What these tests share: a broker with the exchange of events and a queue that takes them all.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_core::credential::Credential;
use mesh_core::message::{Headers, Message, PublishId};
use mesh_core::port::{AppendOptions, Connection, ConnectionState};
use mesh_testkit::fixtures;
use mesh_testkit::servers::rabbit::{Account, Definitions, Management, RabbitConfig, RabbitServer};
use mesh_transport_amqp::{AmqpOptions, Target, connect};
use parking_lot::Mutex;
use serde_json::{Value, json};

pub(crate) const PASSWORD: &str = "n0t-a-secret";
pub(crate) const VHOST: &str = "mesh";
/// The queue of every event.
pub(crate) const QUEUE: &str = "n1.mail.events";

/// Longer than any test waits.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// Options that make what takes long short: a silent broker is noticed within 2 s or little more, and
/// tried again every half second.
pub(crate) fn quick() -> AmqpOptions {
    AmqpOptions {
        connect_timeout: Duration::from_secs(5),
        heartbeat: Duration::from_secs(1),
        reconnect_min: Duration::from_millis(50),
        reconnect_max: Duration::from_millis(500),
        ..AmqpOptions::default()
    }
}

/// A broker of its own, where `n1.<module>` of each of these modules may do everything.
pub(crate) async fn broker(modules: &[&str]) -> RabbitServer {
    let mut definitions = Definitions::new()
        .vhost(VHOST)
        .exchange(VHOST, "mesh.events", "topic")
        .exchange(VHOST, "mesh.live", "topic")
        .exchange(VHOST, "mesh.rpc", "topic")
        .queue(VHOST, QUEUE, &json!({ "x-queue-type": "quorum" }))
        .binding(VHOST, "mesh.events", QUEUE, "#");
    for module in modules {
        definitions = definitions.account(VHOST, &account(module));
    }
    let server = RabbitServer::launch(RabbitConfig::new().definitions(definitions)).await.unwrap();
    // The harness's own user takes messages out, too.
    let told = server.management().get(&["whoami"]).await.unwrap();
    let rights = json!({ "configure": "", "write": "", "read": ".*" });
    let path = ["permissions", VHOST, told["name"].as_str().unwrap()];
    server.management().put(&path, &rights).await.unwrap();
    server
}

/// The same, to be killed: RabbitMQ writes down half a second late that there is a quorum queue, and one that
/// it forgets stays without a leader. A restart writes it down.
pub(crate) async fn lasting_broker(modules: &[&str]) -> RabbitServer {
    let server = broker(modules).await;
    server.restart().await.unwrap();
    server
}

pub(crate) fn account(module: &str) -> Account {
    Account::new(format!("n1.{module}"), PASSWORD).all_rights()
}

/// The broker at an address, for module `module` on `n1`.
pub(crate) fn target_at(
    server: &RabbitServer,
    address: SocketAddr,
    module: &str,
    password: &str,
) -> Target {
    let document = json!({
        "url": format!("amqps://n1.{module}:{password}@{address}/{VHOST}"),
        "fingerprint": server.fingerprint(),
        "node": "n1",
        "module": module,
    });
    Target::of(&Credential::parse(document.to_string()).unwrap()).unwrap()
}

pub(crate) fn target(server: &RabbitServer, module: &str) -> Target {
    target_at(server, server.address(), module, PASSWORD)
}

pub(crate) async fn dial(server: &RabbitServer, module: &str) -> Connection {
    connect(target(server, module), quick()).await.unwrap()
}

/// Options of an append with an id, and a time.
pub(crate) fn appending(id: &str, timeout: Duration) -> AppendOptions {
    AppendOptions { id: Some(PublishId::new(id).unwrap()), timeout, ..AppendOptions::default() }
}

/// An event of module `mail` with this id.
pub(crate) fn event(id: &str) -> Message {
    let (name, value) = fixtures::header("x-event-id", id);
    let mut headers = Headers::default();
    headers.append(name, value);
    Message::new(fixtures::event("mail", "letter.sent"), id.to_owned()).with_headers(headers)
}

/// Takes all that the queue holds, oldest first: their bodies.
pub(crate) async fn taken(management: &Management) -> Vec<String> {
    let mut bodies = Vec::new();
    loop {
        let asked = json!({ "count": 5000, "ackmode": "ack_requeue_false", "encoding": "auto" });
        let path = ["queues", VHOST, QUEUE, "get"];
        let told = management.post(&path, &asked).await.unwrap();
        let messages = told.as_array().unwrap();
        if messages.is_empty() {
            return bodies;
        }
        bodies.extend(messages.iter().map(|one| one["payload"].as_str().unwrap().to_owned()));
    }
}

/// The connections of `n1.<module>` as the broker knows them, which lags by a second or so.
pub(crate) async fn connections(management: &Management, module: &str) -> Vec<Value> {
    let told = management.get(&["connections"]).await.unwrap();
    let of_module = |one: &&Value| one["user"] == format!("n1.{module}");
    told.as_array().unwrap().iter().filter(of_module).cloned().collect()
}

/// What the connection counts under that name.
pub(crate) fn figure(connection: &Connection, name: &str) -> u64 {
    let shown = format!("{connection:?}");
    let (_, after) = shown.split_once(&format!("{name}: ")).unwrap();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Looks again and again until it finds something, or fails the test after a minute.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    // Not the other one: its future can't be spawned.
    let due = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < due, "not within a minute: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The same with a look that takes its time.
pub(crate) async fn until_async<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let due = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < due, "not within a minute: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The states of a connection as they were told.
#[derive(Clone)]
pub(crate) struct States(Arc<Mutex<Vec<ConnectionState>>>);

impl States {
    /// Listens from now on.
    pub(crate) fn of(connection: &Connection) -> Self {
        let told = Self(Arc::default());
        let (mut states, list) = (connection.transport().states(), told.0.clone());
        tokio::spawn(async move {
            while let Some(state) = states.next().await {
                list.lock().push(state);
            }
        });
        told
    }

    /// Returns when a loss was told in words that hold these.
    pub(crate) async fn lost(&self, words: &str) {
        let is = |state: &ConnectionState| match state {
            ConnectionState::Disconnected(error) => error.to_string().contains(words),
            _ => false,
        };
        until(&format!("a loss because of {words:?}, in {:?}", self.0), || {
            self.0.lock().iter().any(is).then_some(())
        })
        .await;
    }

    /// Returns when the last one told is `Connected`, and one before was not.
    pub(crate) async fn mended(&self) {
        until("a connection that was lost and is back", || {
            let told = self.0.lock();
            let lost = told.iter().any(|state| !state.is_connected());
            (lost && told.last().is_some_and(ConnectionState::is_connected)).then_some(())
        })
        .await;
    }

    /// Whether a loss was told.
    pub(crate) fn was_lost(&self) -> bool {
        self.0.lock().iter().any(|state| matches!(state, ConnectionState::Disconnected(_)))
    }
}
