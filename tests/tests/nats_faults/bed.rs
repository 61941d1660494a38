//! What these tests share: a server with a user who may do everything, connections to it, streams.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, consumer, stream};
use mesh_core::credential::{Login, Secret};
use mesh_core::identity::Principal;
use mesh_core::message::{Message, PublishId};
use mesh_core::port::{
    AppendOptions, Connection, ConnectionState, ConsumeOptions, Deliveries, TransportError,
};
use mesh_core::topology::{ConsumerRef, ConsumerRules, StreamName};
use mesh_testkit::fixtures;
use mesh_testkit::servers::nats::NatsConfig;
use mesh_transport_nats::{NatsOptions, Target, connect};
use parking_lot::Mutex;

pub(crate) const USER: &str = "open";
pub(crate) const PASSWORD: &str = "n0t-a-secret";

/// One account with JetStream, a user who may do everything, and these lines of users.
pub(crate) fn config(users: &str) -> NatsConfig {
    NatsConfig::new().jetstream().with(format!(
        "accounts {{ MESH {{ jetstream: enabled, users: [ {{ user: {USER}, password: \"{PASSWORD}\" }}\n{users} ] }} }}"
    ))
}

/// Options that make what takes long short: a dead server is noticed within 1.5 s, and tried again
/// every half second.
pub(crate) fn quick() -> NatsOptions {
    NatsOptions {
        connect_timeout: Duration::from_secs(5),
        ping_interval: Duration::from_millis(500),
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
    let client = options.retry_on_initial_connect().connect(address.to_string()).await.unwrap();
    jetstream::new(client)
}

/// Makes the stream of events with so many replicas.
pub(crate) async fn make_events(context: &jetstream::Context, replicas: usize) -> stream::Stream {
    let config = stream::Config {
        name: StreamName::Events.to_string(),
        subjects: vec!["mesh.events.*.>".into(), "mesh.replay.*.>".into()],
        discard: stream::DiscardPolicy::New,
        max_bytes: 512 * 1024 * 1024,
        num_replicas: replicas,
        ..stream::Config::default()
    };
    context.create_stream(config).await.unwrap()
}

/// Makes a consumer of events by those rules.
pub(crate) async fn make_consumer(
    stream: &stream::Stream,
    reference: &ConsumerRef,
    rules: ConsumerRules,
) {
    let config = consumer::push::Config {
        durable_name: Some(reference.consumer.to_string()),
        deliver_subject: format!("mesh.deliver.{}.{}", reference.stream, reference.consumer),
        deliver_group: rules.shared.then(|| reference.consumer.to_string()),
        ack_policy: consumer::AckPolicy::Explicit,
        ack_wait: rules.ack_wait,
        max_deliver: rules.max_deliver.map_or(-1, i64::from),
        max_ack_pending: rules.max_ack_pending as i64,
        filter_subjects: vec!["mesh.events.>".into()],
        ..consumer::push::Config::default()
    };
    stream.create_consumer(config).await.unwrap();
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
    let due = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
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

    /// Returns when the last one told is `Connected`, after one that was not.
    pub(crate) async fn mended(&self) {
        until("a connection that was lost and is back", || {
            let told = self.0.lock();
            let lost = told.iter().any(|state| !state.is_connected());
            (lost && told.last().is_some_and(ConnectionState::is_connected)).then_some(())
        })
        .await;
    }
}

/// A number out of the adapter's `Debug`: `waiting`, `late`.
pub(crate) fn figure(connection: &Connection, name: &str) -> u64 {
    let text = format!("{:?}", connection.transport());
    let (_, rest) = text.split_once(&format!("{name}: ")).unwrap();
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap();
    digits.parse().unwrap()
}

/// What an error was, for a table of counts.
pub(crate) fn kind(error: &TransportError) -> String {
    format!("{:?}", error.kind())
}
