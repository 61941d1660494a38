//! What outlives a session: who this is, which session stands now, what was subscribed.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{
    Capabilities, Clock, ConnectionState, ErrorKind, Limits, Operation, TransportError,
};
use mesh_session::{Accepted, Places};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::AmqpOptions;
use crate::counters::Counters;
use crate::live::Hearing;
use crate::session::Session;

/// How the connection is, for its calls.
#[derive(Debug, Clone)]
pub(crate) enum Phase {
    /// A session stands.
    Up(Arc<Session>),
    /// None does, for this reason; another is being made.
    Down(TransportError),
    /// Over, by its owner.
    Closed,
}

/// How far `close` has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// It was not called.
    Open,
    /// Nothing more is accepted.
    Closing,
    /// Subscriptions end after what has arrived.
    Draining,
}

/// A durable reader, as the connection's own calls know it.
#[async_trait]
pub(crate) trait Reader: Send + Sync + fmt::Debug {
    /// Stops reading and gives back what is unsettled; how many those were.
    async fn leave(&self, due: Instant) -> u64;

    /// Returns when the broker has handled every verdict that was given before.
    async fn settled(&self, operation: Operation, due: Instant) -> Result<(), TransportError>;

    /// How many verdicts may not have reached the broker.
    fn in_doubt(&self) -> u64;
}

/// See the module.
pub(crate) struct Link {
    pub(crate) principal: Principal,
    pub(crate) options: AmqpOptions,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) capabilities: Capabilities,
    pub(crate) counters: Counters,
    pub(crate) accepted: Accepted,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) states: watch::Sender<ConnectionState>,
    pub(crate) stage: watch::Sender<Stage>,
    pub(crate) places: Places,
    /// Held by their keepers, so that a runtime that ends takes them with it.
    readers: Mutex<Vec<Weak<dyn Reader>>>,
    /// The live subscriptions.
    hearings: Mutex<Vec<Weak<Hearing>>>,
    ids: AtomicU64,
    /// Where tasks run that a dropped value leaves behind.
    pub(crate) runtime: tokio::runtime::Handle,
}

impl Link {
    pub(crate) fn new(
        principal: Principal,
        options: AmqpOptions,
        capabilities: Capabilities,
        first: Arc<Session>,
    ) -> Arc<Self> {
        Arc::new(Self {
            principal,
            accepted: Accepted::default(),
            options,
            clock: Arc::new(SystemClock::new()),
            capabilities,
            counters: Counters::default(),
            phase: watch::Sender::new(Phase::Up(first)),
            states: watch::Sender::new(ConnectionState::Connected),
            stage: watch::Sender::new(Stage::Open),
            places: Places::default(),
            readers: Mutex::default(),
            hearings: Mutex::default(),
            ids: AtomicU64::new(1),
            runtime: tokio::runtime::Handle::current(),
        })
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Checks that the connection was not closed.
    pub(crate) fn check_open(&self, operation: Operation) -> Result<(), TransportError> {
        if self.is_closing() { Err(closed(operation)) } else { Ok(()) }
    }

    /// Checks that the connection is open and that `message` may be sent on it.
    pub(crate) fn check(
        &self,
        message: &Message,
        operation: Operation,
    ) -> Result<(), TransportError> {
        self.check_open(operation)?;
        message.check(self.capabilities.limits()).map_err(|problem| {
            TransportError::of_message(problem, operation, message.subject().as_str())
        })
    }

    /// The session that stands, or the next one if it comes before `deadline`.
    pub(crate) async fn session(
        &self,
        operation: Operation,
        deadline: Instant,
    ) -> Result<Arc<Session>, TransportError> {
        match self.session_now() {
            Some(session) => Ok(session),
            None => Box::pin(self.session_later(operation, deadline)).await,
        }
    }

    async fn session_later(
        &self,
        operation: Operation,
        deadline: Instant,
    ) -> Result<Arc<Session>, TransportError> {
        let mut phase = self.phase.subscribe();
        let standing = async {
            loop {
                match &*phase.borrow_and_update() {
                    Phase::Up(session) if session.stands() => return Ok(Arc::clone(session)),
                    Phase::Closed => return Err(closed(operation)),
                    _ => {}
                }
                if phase.changed().await.is_err() {
                    return Err(closed(operation));
                }
            }
        };
        match tokio::time::timeout_at(deadline, standing).await {
            Ok(session) => session,
            Err(_) => Err(self.away(operation)),
        }
    }

    /// The session that stands now, without waiting for one.
    pub(crate) fn session_now(&self) -> Option<Arc<Session>> {
        match &*self.phase.borrow() {
            Phase::Up(session) if session.stands() => Some(Arc::clone(session)),
            _ => None,
        }
    }

    /// The error of a call that finds no connection.
    pub(crate) fn away(&self, operation: Operation) -> TransportError {
        let error = TransportError::new(ErrorKind::Disconnected, operation);
        match &*self.phase.borrow() {
            Phase::Down(cause) => error.detail(cause.to_string()).caused_by(cause.clone()),
            Phase::Closed => closed(operation),
            Phase::Up(_) => error,
        }
    }

    /// Says that subscription `id` has its place in that session.
    pub(crate) fn placed(&self, id: u64, session: &Session) {
        self.places.placed(id, session.id);
        self.tell_state();
    }

    /// Says that a subscription is over.
    pub(crate) fn gone(&self, id: u64) {
        self.places.gone(id);
        self.tell_state();
    }

    /// The durable readers that are not at their end.
    pub(crate) fn readers(&self) -> Vec<Arc<dyn Reader>> {
        self.readers.lock().iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn remember(&self, reader: &Arc<dyn Reader>) {
        let mut readers = self.readers.lock();
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(reader));
    }

    /// The live subscriptions that have a reader.
    pub(crate) fn hearings(&self) -> Vec<Arc<Hearing>> {
        self.hearings.lock().iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn hear(&self, hearing: &Arc<Hearing>) {
        let mut hearings = self.hearings.lock();
        hearings.retain(|hearing| hearing.strong_count() > 0);
        hearings.push(Arc::downgrade(hearing));
    }

    /// Says how the connection is: connected once every subscription is in place.
    pub(crate) fn tell_state(&self) {
        self.states.send_if_modified(|told| {
            // Looked at here, where one tells at a time: the last word is about the last change.
            let state = self.state();
            let over = matches!(told, ConnectionState::Closed);
            if over || is_same(told, &state) {
                return false;
            }
            *told = state;
            true
        });
    }

    fn state(&self) -> ConnectionState {
        match &*self.phase.borrow() {
            Phase::Closed => ConnectionState::Closed,
            Phase::Down(error) => ConnectionState::Disconnected(error.clone()),
            Phase::Up(session) if self.places.are_in(session.id) => ConnectionState::Connected,
            Phase::Up(_) => ConnectionState::Connecting,
        }
    }

    /// Whether `close` has begun.
    pub(crate) fn is_closing(&self) -> bool {
        *self.stage.borrow() > Stage::Open
    }

    /// Returns when `close` has come that far.
    pub(crate) async fn reached(&self, stage: Stage) {
        let _ = self.stage.subscribe().wait_for(|now| *now >= stage).await;
    }
}

/// With what is counted: subscriptions, durable readers, answers that came too late, arrivals that were
/// refused, messages that were published again.
impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counters { late, refused, resent } = &self.counters;
        f.debug_struct("Link")
            .field("principal", &self.principal)
            .field("places", &self.places.count())
            .field("readers", &self.readers().len())
            .field("late", late)
            .field("refused", refused)
            .field("resent", resent)
            .field("phase", &*self.phase.borrow())
            .finish_non_exhaustive()
    }
}

/// Whether a state says nothing new. Another reason why there is no connection is new.
fn is_same(one: &ConnectionState, other: &ConnectionState) -> bool {
    match (one, other) {
        (ConnectionState::Disconnected(one), ConnectionState::Disconnected(other)) => {
            one.to_string() == other.to_string()
        }
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// The error of a call on a connection that its owner closed.
pub(crate) fn closed(operation: Operation) -> TransportError {
    TransportError::new(ErrorKind::Closed, operation)
}

/// The error of what was to run on a runtime that has ended.
pub(crate) fn runtime_ended(operation: Operation) -> TransportError {
    closed(operation).detail("the runtime of this connection has ended")
}

/// When a span that begins now is over.
pub(crate) fn deadline(span: Duration) -> Instant {
    // A span that no clock can hold has no end that matters.
    let now = Instant::now();
    now.checked_add(span).unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3600))
}

/// What may be sent to this broker: all headers of a message travel in one frame, with the rest of its
/// properties.
pub(crate) fn limits(session: &Session) -> Limits {
    let headers = session.publishing.frame_max() / 4;
    let all = Limits::default();
    Limits { max_header_bytes: all.max_header_bytes.min(headers), ..all }
}
