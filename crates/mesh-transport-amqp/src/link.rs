//! What outlives a session: who this is, and what was subscribed.

use std::fmt;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{Capabilities, Clock, Limits, Operation, TransportError};
use mesh_session::Line;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::AmqpOptions;
use crate::counters::Counters;
use crate::live::Hearing;
use crate::publish::Routes;
use crate::session::Session;

pub(crate) use mesh_session::{Stage, closed, deadline, runtime_ended};

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
    pub(crate) line: Arc<Line<Session>>,
    pub(crate) principal: Principal,
    pub(crate) options: AmqpOptions,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) capabilities: Capabilities,
    pub(crate) counters: Counters,
    pub(crate) routes: Routes,
    /// Held by their keepers, so that a runtime that ends takes them with it.
    readers: Mutex<Vec<Weak<dyn Reader>>>,
    /// The live subscriptions.
    hearings: Mutex<Vec<Weak<Hearing>>>,
}

impl Link {
    pub(crate) fn new(
        principal: Principal,
        options: AmqpOptions,
        capabilities: Capabilities,
        first: Arc<Session>,
    ) -> Arc<Self> {
        Arc::new(Self {
            line: Line::new(first),
            principal,
            options,
            clock: Arc::new(SystemClock::new()),
            capabilities,
            counters: Counters::default(),
            routes: Routes::default(),
            readers: Mutex::default(),
            hearings: Mutex::default(),
        })
    }

    /// Checks that the connection is open and that `message` may be sent on it.
    pub(crate) fn check(
        &self,
        message: &Message,
        operation: Operation,
    ) -> Result<(), TransportError> {
        self.line.check_open(operation)?;
        message.check(self.capabilities.limits()).map_err(|problem| {
            TransportError::of_message(problem, operation, message.subject().as_str())
        })
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
}

/// With what is counted: subscriptions, durable readers, answers that came too late, arrivals that were
/// refused, messages that were published again.
impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counters { late, refused, resent } = &self.counters;
        f.debug_struct("Link")
            .field("principal", &self.principal)
            .field("places", &self.line.places().count())
            .field("readers", &self.readers().len())
            .field("late", late)
            .field("refused", refused)
            .field("resent", resent)
            .field("phase", &*self.line.phases().borrow())
            .finish_non_exhaustive()
    }
}

/// What may be sent to this broker: all headers of a message travel in one frame, with the rest of its
/// properties.
pub(crate) fn limits(session: &Session) -> Limits {
    let headers = session.publishing.frame_max() / 4;
    let all = Limits::default();
    Limits { max_header_bytes: all.max_header_bytes.min(headers), ..all }
}
