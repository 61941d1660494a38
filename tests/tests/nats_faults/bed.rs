//! What these tests share: a server with a user who may do everything, connections to it, streams.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use async_nats::jetstream;
use mesh_core::credential::{Credential, Login, Secret};
use mesh_core::identity::Principal;
use mesh_core::message::{Message, PublishId};
use mesh_core::port::{
    AppendOptions, Connection, ConnectionState, ConsumeOptions, ConsumerState, Deliveries,
    DriftMode,
};
use mesh_core::topology::{ConsumerRef, ConsumerRules, ConsumerSpec, StreamName, Topology};
use mesh_testkit::fixtures;
use mesh_testkit::servers::nats::{NatsConfig, NatsServer};
use mesh_transport_nats::{NatsOptions, StreamSettings, Target, connect};
use parking_lot::Mutex;

pub(crate) const USER: &str = "open";
pub(crate) const PASSWORD: &str = "n0t-a-secret";

/// Longer than any test waits.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// One account with JetStream, a user who may do everything, and these lines of users.
pub(crate) fn config(users: &str) -> NatsConfig {
    NatsConfig::new().jetstream().with(format!(
        "accounts {{ MESH {{ jetstream: enabled, users: [ {{ user: {USER}, password: \"{PASSWORD}\" }}\n{users} ] }} }}"
    ))
}

/// Options that make what takes long short: a silent server is noticed within 6 s, and tried again every
/// half second.
pub(crate) fn quick() -> NatsOptions {
    NatsOptions {
        connect_timeout: Duration::from_secs(5),
        ping_interval: Duration::from_secs(2),
        reconnect_min: Duration::from_millis(50),
        reconnect_max: Duration::from_millis(500),
        ..NatsOptions::default()
    }
}

pub(crate) fn login(user: &str, password: &str) -> Login {
    Login::new(user, Secret::new(password)).unwrap()
}

/// The target of a user without TLS.
pub(crate) fn target(address: SocketAddr, principal: Principal, user: &str) -> Target {
    Target::insecure_loopback(address, login(user, PASSWORD), principal).unwrap()
}

/// The target of a credential: module `user` on `n1`, who trusts these certificates.
pub(crate) fn pinned(address: SocketAddr, user: &str, password: &str, pins: &[&str]) -> Target {
    let document = serde_json::json!({
        "url": format!("tls://{user}:{password}@{address}"),
        "fingerprint": pins,
        "node": "n1",
        "module": user,
    });
    Target::of(&Credential::parse(document.to_string()).unwrap()).unwrap()
}

/// Connects a principal as the user who may do everything.
pub(crate) async fn dial(address: SocketAddr, principal: Principal) -> Connection {
    connect(target(address, principal, USER), quick()).await.unwrap()
}

/// The consumer of `mail` on `n1`.
pub(crate) fn mail() -> ConsumerRef {
    fixtures::consumer(StreamName::Events, "n1_mail")
}

/// Rules for a consumer that may be tried as often as it takes.
pub(crate) fn rules(ack_wait: Duration) -> ConsumerRules {
    ConsumerRules { ack_wait, max_deliver: None, max_ack_pending: 1000, shared: true }
}

/// Options of a reader by those rules.
pub(crate) fn reading(rules: ConsumerRules, in_flight: usize) -> ConsumeOptions {
    ConsumeOptions {
        rules: Some(rules),
        in_flight: NonZeroUsize::new(in_flight).unwrap(),
        ..ConsumeOptions::default()
    }
}

/// Options of an append with an id, and a time.
pub(crate) fn appending(id: &str, timeout: Duration) -> AppendOptions {
    AppendOptions { id: Some(PublishId::new(id).unwrap()), timeout, ..AppendOptions::default() }
}

/// An event of module `mail` with this id.
pub(crate) fn event(id: &str) -> Message {
    let (name, value) = fixtures::header("x-event-id", id);
    let mut headers = mesh_core::message::Headers::default();
    headers.append(name, value);
    Message::new(fixtures::event("mail", "letter.sent"), "{}".to_owned()).with_headers(headers)
}

/// The id of an event.
pub(crate) fn id_of(message: &Message) -> String {
    message.headers().value("x-event-id").unwrap().to_owned()
}

/// A client of the library's own, for what the adapter has no part in.
pub(crate) async fn jetstream(address: SocketAddr) -> jetstream::Context {
    let options = async_nats::ConnectOptions::with_user_and_password(USER.into(), PASSWORD.into());
    jetstream::new(options.connect(address.to_string()).await.unwrap())
}

/// The stream of events with these consumers of all of them.
pub(crate) fn events(consumers: &[(ConsumerRef, ConsumerRules)]) -> Topology {
    let other = |name: &StreamName| *name != StreamName::Events;
    let mut topology = StreamName::ALL
        .into_iter()
        .filter(other)
        .fold(Topology::new(), |topology, name| topology.without_stream(name));
    for (consumer, rules) in consumers {
        let spec = fixtures::consumer_spec(consumer.clone(), &["mesh.events.>"], rules.ack_wait);
        topology = topology.with_consumer(ConsumerSpec { rules: *rules, ..spec });
    }
    topology
}

/// Has the controller assert it, with so many replicas.
pub(crate) async fn assert(address: SocketAddr, topology: &Topology, replicas: u8) {
    let streams = StreamSettings { replicas, ..StreamSettings::default() };
    let options = NatsOptions { streams, ..quick() };
    let target = target(address, fixtures::controller(), USER);
    let controller = connect(target, options).await.unwrap();
    let administration = controller.administration().unwrap();
    administration.assert(topology, DriftMode::Report).await.unwrap();
    controller.transport().close(Duration::from_secs(5)).await;
}

/// How many events are stored.
pub(crate) async fn stored(address: SocketAddr) -> u64 {
    let controller = dial(address, fixtures::controller()).await;
    let administration = controller.administration().unwrap();
    let state = administration.inspect(StreamName::Events).await.unwrap().unwrap();
    controller.transport().close(Duration::from_secs(5)).await;
    state.messages
}

/// How many events a consumer has yet to settle.
pub(crate) async fn owed(address: SocketAddr, consumer: &ConsumerRef) -> u64 {
    let state = inspect(address, consumer).await;
    state.owed()
}

/// How many of them it has been given.
pub(crate) async fn claimed(address: SocketAddr, consumer: &ConsumerRef) -> u64 {
    inspect(address, consumer).await.in_flight.unwrap()
}

async fn inspect(address: SocketAddr, consumer: &ConsumerRef) -> ConsumerState {
    let controller = dial(address, fixtures::controller()).await;
    let administration = controller.administration().unwrap();
    let state = administration.inspect_consumer(consumer).await.unwrap().unwrap();
    controller.transport().close(Duration::from_secs(5)).await;
    state
}

/// A server with the stream of events and `mail`'s consumer by those rules.
pub(crate) async fn server_with_mail(rules: ConsumerRules) -> NatsServer {
    let server = NatsServer::launch(config("")).await.unwrap();
    assert(server.address(), &events(&[(mail(), rules)]), 1).await;
    server
}

/// Reads a consumer, trying again while the server is away.
pub(crate) async fn consume(
    connection: &Connection,
    consumer: ConsumerRef,
    options: ConsumeOptions,
) -> Deliveries {
    let due = Instant::now() + Duration::from_secs(30);
    loop {
        match connection.streams().unwrap().consume(consumer.clone(), options.clone()).await {
            Ok(deliveries) => return deliveries,
            Err(error) => assert!(error.may_retry() && Instant::now() < due, "{error}"),
        }
    }
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
pub(crate) struct States(std::sync::Arc<Mutex<Vec<ConnectionState>>>);

impl States {
    /// Listens from now on.
    pub(crate) fn of(connection: &Connection) -> Self {
        let told = Self(std::sync::Arc::default());
        let (mut states, list) = (connection.transport().states(), told.0.clone());
        tokio::spawn(async move {
            while let Some(state) = states.next().await {
                list.lock().push(state);
            }
        });
        told
    }

    /// What was told until now.
    pub(crate) fn told(&self) -> Vec<ConnectionState> {
        self.0.lock().clone()
    }

    /// Returns when one was told that is such.
    pub(crate) async fn any(&self, what: &str, is: impl Fn(&ConnectionState) -> bool) {
        until(what, || self.0.lock().iter().any(&is).then_some(())).await;
    }

    /// How many were told until now.
    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Returns when the last one told is `Connected`, and one was not after the first so many.
    pub(crate) async fn mended_since(&self, count: usize) {
        until("a connection that was lost and is back", || {
            let told = self.0.lock();
            let mut news = told.iter().skip(count);
            let lost = news.any(|state| !state.is_connected());
            (lost && told.last().is_some_and(ConnectionState::is_connected)).then_some(())
        })
        .await;
    }

    /// The same from the beginning.
    pub(crate) async fn mended(&self) {
        self.mended_since(0).await;
    }
}

/// A number out of the adapter's `Debug`: `waiting`, `late`.
pub(crate) fn figure(connection: &Connection, name: &str) -> u64 {
    let text = format!("{:?}", connection.transport());
    let (_, rest) = text.split_once(&format!("{name}: ")).unwrap();
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap();
    digits.parse().unwrap()
}

/// Returns when so many clients are connected to the server.
pub(crate) async fn connections(server: &NatsServer, wanted: usize) {
    let due = Instant::now() + Duration::from_secs(30);
    loop {
        let connz = server.connz().await.unwrap();
        let open = connz["connections"].as_array().map_or(0, Vec::len);
        if open == wanted {
            return;
        }
        assert!(Instant::now() < due, "{open} connections, not {wanted}: {connz}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
