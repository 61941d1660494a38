//! What outlives a session: who this is, and what was subscribed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Weak};

use mesh_clock::SystemClock;
use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{Capabilities, Clock, Limits, Operation, TransportError};
use mesh_core::topology::{Inbox, StreamName};
use mesh_session::Line;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::NatsOptions;
use crate::consume::Reading;
use crate::counters::Counters;
use crate::session::Session;

pub(crate) use mesh_session::{Stage, closed, deadline, runtime_ended};

/// See the module.
pub(crate) struct Link {
    pub(crate) line: Arc<Line<Session>>,
    pub(crate) principal: Principal,
    pub(crate) inbox: Inbox,
    pub(crate) options: NatsOptions,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) capabilities: Capabilities,
    pub(crate) counters: Counters,
    pub(crate) window: Arc<Semaphore>,
    /// Held by their keepers, so that a runtime that ends takes them with it.
    readings: Mutex<Vec<Weak<Reading>>>,
    /// The streams that have confirmed an append.
    pub(crate) streams: Mutex<BTreeSet<StreamName>>,
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
            line: Line::new(first),
            inbox: Inbox::of(&principal),
            principal,
            window: Arc::new(Semaphore::new(options.append_window.get())),
            options,
            clock: Arc::new(SystemClock::new()),
            capabilities,
            counters,
            readings: Mutex::default(),
            streams: Mutex::default(),
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
}

/// With what is counted: operations that wait, those that are not proven, subscriptions, those of durable
/// readers, answers that came too late, refusals that belong to no operation, appends that were sent again,
/// answers of ours that were refused.
impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counters { late, unattributed, resent, refused_answers } = &self.counters;
        let session = self.line.session_now();
        let (waiting, unproven) =
            session.map_or((0, 0), |session| (session.pending.len(), session.pending.unproven()));
        f.debug_struct("Link")
            .field("principal", &self.principal)
            .field("waiting", &waiting)
            .field("unproven", &unproven)
            .field("places", &self.line.places().count())
            .field("readings", &self.readings().len())
            .field("late", late)
            .field("unattributed", unattributed)
            .field("resent", resent)
            .field("refused_answers", refused_answers)
            .field("phase", &*self.line.phases().borrow())
            .finish_non_exhaustive()
    }
}

/// What may be sent to this server: its limit counts headers and payload together, and what stands around
/// the headers.
pub(crate) fn limits(max_payload: usize) -> Limits {
    let headers = Limits::default().max_header_bytes.min(max_payload / 4);
    let around = "NATS/1.0\r\n\r\n".len();
    Limits { max_payload: max_payload.saturating_sub(headers + around), max_header_bytes: headers }
}
