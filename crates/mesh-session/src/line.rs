//! Which session a connection has now, and how far its owner has come with closing it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream;
use mesh_core::port::{ConnectionState, ConnectionStates, ErrorKind, Operation, TransportError};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::{Accepted, Places};

/// One session with a broker, which is never mended: when it is lost, another is made.
pub trait Session: fmt::Debug + Send + Sync + 'static {
    /// Its number: a later session's is higher.
    fn id(&self) -> u64;

    /// Whether it stands, as far as is known.
    fn stands(&self) -> bool;

    /// Returns when it is over, with the reason.
    fn over(&self) -> impl Future<Output = TransportError> + Send;

    /// Ends it at once, with all that waits in it, for this reason.
    fn end(&self, why: &TransportError);
}

/// How a connection is, for its calls.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "adapters must handle each")]
pub enum Phase<S> {
    /// A session stands.
    Up(Arc<S>),
    /// None does, for this reason; another is being made.
    Down(TransportError),
    /// Over, by its owner.
    Closed,
}

/// How far `close` has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "adapters must handle each")]
pub enum Stage {
    /// It was not called.
    Open,
    /// Nothing more is accepted.
    Closing,
    /// Subscriptions end after what has arrived.
    Draining,
}

/// What outlives a session: which one stands, what has its place in it, what was accepted.
#[derive(Debug)]
pub struct Line<S> {
    phase: watch::Sender<Phase<S>>,
    states: watch::Sender<ConnectionState>,
    stage: watch::Sender<Stage>,
    ids: AtomicU64,
    places: Places,
    accepted: Arc<Accepted>,
    runtime: Handle,
}

impl<S: Session> Line<S> {
    /// A connection whose first session this is. Must be called in the runtime that it goes on using.
    #[must_use]
    pub fn new(first: Arc<S>) -> Arc<Self> {
        Arc::new(Self {
            phase: watch::Sender::new(Phase::Up(first)),
            states: watch::Sender::new(ConnectionState::Connected),
            stage: watch::Sender::new(Stage::Open),
            ids: AtomicU64::new(1),
            places: Places::default(),
            accepted: Arc::default(),
            runtime: Handle::current(),
        })
    }

    /// A number for a subscription, another each time.
    pub fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Where subscriptions have their places.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// What was accepted to be brought to the broker.
    pub fn accepted(&self) -> &Arc<Accepted> {
        &self.accepted
    }

    /// Where its tasks run, those that a dropped value leaves behind too.
    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// The phase, to be watched.
    pub fn phases(&self) -> watch::Receiver<Phase<S>> {
        self.phase.subscribe()
    }

    /// The session that stands, or the next one if it comes before `deadline`.
    ///
    /// # Errors
    /// `Closed`; `Disconnected` with the reason why there is none.
    pub async fn session(
        &self,
        operation: Operation,
        deadline: Instant,
    ) -> Result<Arc<S>, TransportError> {
        match self.session_now() {
            Some(session) => Ok(session),
            None => Box::pin(self.session_later(operation, deadline)).await,
        }
    }

    /// The same for a call about `subject`, which the error names.
    ///
    /// # Errors
    /// As [`session`](Self::session).
    pub async fn session_for(
        &self,
        operation: Operation,
        subject: &str,
        deadline: Instant,
    ) -> Result<Arc<S>, TransportError> {
        self.session(operation, deadline).await.map_err(|error| error.about(subject))
    }

    async fn session_later(
        &self,
        operation: Operation,
        deadline: Instant,
    ) -> Result<Arc<S>, TransportError> {
        match timeout_at(deadline, self.session_after(0)).await {
            Ok(Some(session)) => Ok(session),
            Ok(None) => Err(closed(operation)),
            Err(_) => Err(self.away(operation)),
        }
    }

    /// The first session that stands with a number above `last`, or nothing once the connection is closed.
    pub async fn session_after(&self, last: u64) -> Option<Arc<S>> {
        let mut phase = self.phase.subscribe();
        let found = phase
            .wait_for(|phase| match phase {
                Phase::Up(session) => session.id() > last && session.stands(),
                Phase::Down(_) => false,
                Phase::Closed => true,
            })
            .await;
        match &*found.ok()? {
            Phase::Up(session) => Some(Arc::clone(session)),
            _ => None,
        }
    }

    /// The session that stands now, without waiting for one.
    pub fn session_now(&self) -> Option<Arc<S>> {
        match &*self.phase.borrow() {
            Phase::Up(session) if session.stands() => Some(Arc::clone(session)),
            _ => None,
        }
    }

    /// The error of a call that finds no session.
    pub fn away(&self, operation: Operation) -> TransportError {
        let error = TransportError::new(ErrorKind::Disconnected, operation);
        match &*self.phase.borrow() {
            Phase::Down(cause) => error.detail(cause.to_string()).caused_by(cause.clone()),
            Phase::Closed => closed(operation),
            Phase::Up(_) => error,
        }
    }

    /// Says that subscription `id` has its place in that session.
    pub fn placed(&self, id: u64, session: &S) {
        self.places.placed(id, session.id());
        self.tell_state();
    }

    /// Says that a subscription is over.
    pub fn gone(&self, id: u64) {
        self.places.gone(id);
        self.tell_state();
    }

    /// The connection's states: how it is now, then each change, `Closed` at last.
    pub fn states(&self) -> ConnectionStates {
        let next = |reading: Option<(watch::Receiver<ConnectionState>, bool)>| async move {
            let (mut states, first) = reading?;
            if !first {
                states.changed().await.ok()?;
            }
            let state = states.borrow_and_update().clone();
            let over = matches!(state, ConnectionState::Closed);
            Some((state, (!over).then_some((states, false))))
        };
        ConnectionStates::new(stream::unfold(Some((self.states.subscribe(), true)), next))
    }

    fn tell_state(&self) {
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

    /// Connected once every subscription is in place.
    fn state(&self) -> ConnectionState {
        match &*self.phase.borrow() {
            Phase::Closed => ConnectionState::Closed,
            Phase::Down(error) => ConnectionState::Disconnected(error.clone()),
            Phase::Up(session) if self.places.are_in(session.id()) => ConnectionState::Connected,
            Phase::Up(_) => ConnectionState::Connecting,
        }
    }

    /// Checks that the connection was not closed.
    ///
    /// # Errors
    /// `Closed`.
    pub fn check_open(&self, operation: Operation) -> Result<(), TransportError> {
        if self.is_closing() { Err(closed(operation)) } else { Ok(()) }
    }

    /// Whether `close` has begun.
    pub fn is_closing(&self) -> bool {
        *self.stage.borrow() > Stage::Open
    }

    /// Returns when `close` has come that far.
    pub async fn reached(&self, stage: Stage) {
        let _ = self.stage.subscribe().wait_for(|now| *now >= stage).await;
    }

    /// Begins to close. `false` where that had begun before: it returns when the connection is closed, and
    /// the first call reports.
    pub async fn begin_close(&self, due: Instant) -> bool {
        let first = self.stage.send_if_modified(|stage| {
            let first = *stage == Stage::Open;
            if first {
                *stage = Stage::Closing;
            }
            first
        });
        if !first {
            let mut phase = self.phase.subscribe();
            let over = phase.wait_for(|phase| matches!(phase, Phase::Closed));
            let _ = timeout_at(due, over).await;
        }
        first
    }

    /// Lets subscriptions end after what has arrived. Where a session stands it returns when they have left,
    /// and answers it.
    pub async fn drain(&self, due: Instant) -> Option<Arc<S>> {
        self.stage.send_replace(Stage::Draining);
        let session = self.session_now()?;
        let _ = timeout_at(due, self.places.empty()).await;
        Some(session)
    }

    /// Closed from now on. Answers the session that was there, which is the caller's to end. It is told to who reads the states by [`tell_closed`](Self::tell_closed).
    pub fn close(&self) -> Option<Arc<S>> {
        self.stage.send_replace(Stage::Draining);
        match self.phase.send_replace(Phase::Closed) {
            Phase::Up(session) => Some(session),
            _ => None,
        }
    }

    /// Whether it is closed.
    pub fn is_closed(&self) -> bool {
        matches!(&*self.phase.borrow(), Phase::Closed)
    }

    /// Says that it is closed, once all that belongs to that is done.
    pub fn tell_closed(&self) {
        self.tell_state();
    }

    /// Goes on to the next phase, unless the connection was closed meanwhile.
    pub(crate) fn step(&self, next: Phase<S>) -> bool {
        let open = self.phase.send_if_modified(|phase| {
            let open = !matches!(phase, Phase::Closed);
            if open {
                *phase = next;
            }
            open
        });
        self.tell_state();
        open
    }

    /// Returns when it is closed.
    pub(crate) async fn closed(&self) {
        let _ = self.phase.subscribe().wait_for(|phase| matches!(phase, Phase::Closed)).await;
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
#[must_use]
pub fn closed(operation: Operation) -> TransportError {
    TransportError::new(ErrorKind::Closed, operation)
}

/// The error of what was to run on a runtime that has ended.
#[must_use]
pub fn runtime_ended(operation: Operation) -> TransportError {
    closed(operation).detail("the runtime of this connection has ended")
}

/// When a span that begins now is over.
#[must_use]
pub fn deadline(span: Duration) -> Instant {
    // A span that no clock can hold has no end that matters.
    let now = Instant::now();
    now.checked_add(span).unwrap_or_else(|| now + Duration::from_secs(365 * 24 * 3600))
}
