//! A transport that fails where it is told to.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use mesh_core::message::Message;
use mesh_core::port::{
    Capabilities, CloseReport, Connection, ConnectionStates, ErrorKind, Incoming, Operation,
    PublishOptions, ReceiveError, SubscribeOptions, Subscription, Transport, TransportError,
};
use mesh_core::subject::Filter;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::world::someone;

/// Passes all on to another, but for what a test puts in between.
#[derive(Clone)]
pub(super) struct Faulty {
    inner: Arc<dyn Transport>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// What the next publishes end with, instead of being made.
    publishes: VecDeque<ErrorKind>,
    /// What each publish to a subject ends with.
    full: Option<(String, ErrorKind)>,
    /// What the next subscribes end with.
    subscribes: VecDeque<ErrorKind>,
    /// Ways into each open subscription.
    open: Vec<(Filter, mpsc::UnboundedSender<ReceiveError>)>,
    published: Vec<Message>,
}

impl Faulty {
    pub(super) fn on(connection: &Connection) -> (Self, Connection) {
        let inner = Arc::clone(connection.transport());
        let faulty = Self { inner, state: Arc::default() };
        let clock = Arc::clone(connection.clock());
        (faulty.clone(), Connection::new(someone(), clock, Arc::new(faulty)))
    }

    pub(super) fn fail_publishes(&self, kinds: impl IntoIterator<Item = ErrorKind>) {
        self.state.lock().publishes.extend(kinds);
    }

    /// Has each publish to this subject end with this.
    pub(super) fn fail_each(&self, subject: &str, kind: ErrorKind) {
        self.state.lock().full = Some((subject.to_owned(), kind));
    }

    pub(super) fn fail_subscribes(&self, kinds: impl IntoIterator<Item = ErrorKind>) {
        self.state.lock().subscribes.extend(kinds);
    }

    /// Has the open subscriptions of this subject tell this.
    pub(super) fn tell(&self, subject: &str, error: &ReceiveError) {
        let state = self.state.lock();
        for (_, way) in state.open.iter().filter(|(filter, _)| filter.to_string() == subject) {
            let _ = way.send(error.clone());
        }
    }

    pub(super) fn published(&self) -> Vec<Message> {
        self.state.lock().published.clone()
    }
}

#[async_trait]
impl Transport for Faulty {
    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn states(&self) -> ConnectionStates {
        self.inner.states()
    }

    async fn publish(
        &self,
        message: Message,
        options: PublishOptions,
    ) -> Result<(), TransportError> {
        let failure = {
            let mut state = self.state.lock();
            let subject = message.subject().as_str();
            let full = state.full.as_ref().filter(|(full, _)| full == subject).map(|full| full.1);
            let failure = state.publishes.pop_front().or(full);
            state.published.push(message.clone());
            failure
        };
        match failure {
            Some(kind) => Err(TransportError::new(kind, Operation::Publish)),
            None => self.inner.publish(message, options).await,
        }
    }

    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        if let Some(kind) = self.state.lock().subscribes.pop_front() {
            return Err(TransportError::new(kind, Operation::Subscribe));
        }
        let inner = self.inner.subscribe(filter.clone(), options).await?;
        let (way, told) = mpsc::unbounded_channel();
        self.state.lock().open.push((filter, way));
        let state = Some((inner, told));
        Ok(Incoming::new(stream::unfold(state, |state| async {
            let (mut inner, mut told) = state?;
            let item = tokio::select! {
                biased;
                Some(error) = told.recv() => Err(error),
                item = inner.next() => item?,
            };
            let is_over = matches!(&item, Err(error) if error.is_terminal());
            Some((item, (!is_over).then_some((inner, told))))
        })))
    }

    async fn flush(&self, timeout: Duration) -> Result<(), TransportError> {
        self.inner.flush(timeout).await
    }

    async fn close(&self, timeout: Duration) -> CloseReport {
        self.inner.close(timeout).await
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").finish_non_exhaustive()
    }
}
