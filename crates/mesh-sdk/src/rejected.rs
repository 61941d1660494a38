//! Which handlers have rejected an event that is tried again for the sake of another handler, so that
//! it is not theirs once more.

use std::sync::Arc;

use mesh_core::port::{Clock, Reason};
use mesh_core::store::HandledKey;
use parking_lot::Mutex;

use crate::event::HandlerError;
use crate::marks::Marks;
use crate::retry::RetryPolicy;

/// How many are remembered. What is forgotten sooner is the handler's again, which then rejects it
/// again.
const CAPACITY: usize = 10_000;

/// In memory, for as long as the tries of an event can take.
pub(crate) struct Rejections {
    clock: Arc<dyn Clock>,
    reasons: Mutex<Marks<HandledKey, Reason>>,
}

impl Rejections {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, reasons: Mutex::new(Marks::new(CAPACITY)) }
    }

    /// What this handler said of the event at an earlier try. The first try has none: the event may be
    /// a dead letter that was sent back, and its handler another by now.
    pub(crate) fn earlier(&self, key: &HandledKey, attempt: u32) -> Option<HandlerError> {
        let now = self.clock.monotonic();
        let mut reasons = self.reasons.lock();
        if attempt <= 1 {
            reasons.remove(key);
        }
        reasons.get(key, now).map(|reason| HandlerError::reject(reason.as_str()))
    }

    /// Remembers it from now on.
    pub(crate) fn note(&self, key: HandledKey, error: &HandlerError) {
        let now = self.clock.monotonic();
        let until = now.saturating_add(RetryPolicy::SPAN);
        self.reasons.lock().put(key, Reason::new(error.to_string()), now, until);
    }

    /// The event does not come again.
    pub(crate) fn forget(&self, key: &HandledKey) {
        self.reasons.lock().remove(key);
    }
}
