//! What outlives a session: who this is, which session stands now, what was subscribed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{
    Capabilities, Clock, ConnectionState, ErrorKind, Limits, Operation, TransportError,
};
use mesh_core::topology::{Inbox, StreamName};
use mesh_session::{Accepted, Places};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use crate::NatsOptions;
use crate::consume::Reading;
use crate::counters::Counters;
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

/// See the module.
pub(crate) struct Link {
    pub(crate) principal: Principal,
    pub(crate) inbox: Inbox,
    pub(crate) options: NatsOptions,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) capabilities: Capabilities,
    pub(crate) counters: Counters,
    pub(crate) window: Arc<Semaphore>,
    pub(crate) accepted: Arc<Accepted>,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) states: watch::Sender<ConnectionState>,
    pub(crate) stage: watch::Sender<Stage>,
    pub(crate) places: Places,
    /// Held by their keepers, so that a runtime that ends takes them with it.
    readings: Mutex<Vec<Weak<Reading>>>,
    /// The streams that have confirmed an append.
    pub(crate) streams: Mutex<BTreeSet<StreamName>>,
    ids: AtomicU64,
    /// Where tasks run that a dropped value leaves behind.
    pub(crate) runtime: tokio::runtime::Handle,
}

impl Link {
    pub(crate) fn new(
        principal: Principal,
        options: NatsOptions,
        capabilities: Capabilities,
        counters: Counters,
        first: Arc<Session>,
    ) -> Arc<Self> {
        Arc::new(Self {
            inbox: Inbox::of(&principal),
            principal,
            window: Arc::new(Semaphore::new(options.append_window.get())),
            accepted: Arc::default(),
            options,
            clock: Arc::new(SystemClock::new()),
            capabilities,
            counters,
            phase: watch::Sender::new(Phase::Up(first)),
            states: watch::Sender::new(ConnectionState::Connected),
            stage: watch::Sender::new(Stage::Open),
            places: Places::default(),
            readings: Mutex::default(),
            streams: Mutex::default(),
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

    /// The same for a call about `subject`, which the error names.
    pub(crate) async fn session_for(
        &self,
        operation: Operation,
        subject: &str,
        deadline: Instant,
    ) -> Result<Arc<Session>, TransportError> {
        self.session(operation, deadline).await.map_err(|error| error.about(subject))
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

    /// The durable readings that are not at their end.
    pub(crate) fn readings(&self) -> Vec<Arc<Reading>> {
        self.readings.lock().iter().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn remember(&self, reading: &Arc<Reading>) {
        self.readings.lock().push(Arc::downgrade(reading));
    }

    pub(crate) fn forget(&self, reading: &Arc<Reading>) {
        self.readings.lock().retain(|other| !std::ptr::eq(other.as_ptr(), Arc::as_ptr(reading)));
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

/// With what is counted: operations that wait, those that are not proven, subscriptions, those of durable
/// readers, answers that came too late, refusals that belong to no operation, appends that were sent again,
/// answers of ours that were refused.
impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counters { late, unattributed, resent, refused_answers } = &self.counters;
        let session = self.session_now();
        let (waiting, unproven) =
            session.map_or((0, 0), |session| (session.pending.len(), session.pending.unproven()));
        f.debug_struct("Link")
            .field("principal", &self.principal)
            .field("waiting", &waiting)
            .field("unproven", &unproven)
            .field("places", &self.places.count())
            .field("readings", &self.readings().len())
            .field("late", late)
            .field("unattributed", unattributed)
            .field("resent", resent)
            .field("refused_answers", refused_answers)
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

/// What may be sent to this server: its limit counts headers and payload together, and what stands around
/// the headers.
pub(crate) fn limits(max_payload: usize) -> Limits {
    let headers = Limits::default().max_header_bytes.min(max_payload / 4);
    let around = "NATS/1.0\r\n\r\n".len();
    Limits { max_payload: max_payload.saturating_sub(headers + around), max_header_bytes: headers }
}
