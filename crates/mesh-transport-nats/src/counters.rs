//! What a connection counts over all its sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module. Shown by the `Debug` of the connection's ports.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters {
    /// Answers that nobody waited for any more.
    pub(crate) late: Arc<AtomicU64>,
    /// Refusals that belong to no operation that waits: acknowledgements, and what was permitted
    /// a moment ago.
    pub(crate) unattributed: Arc<AtomicU64>,
    /// Appends that were sent again, because no confirmation came.
    pub(crate) resent: Arc<AtomicU64>,
    /// Answers that the server refused when they were on their way.
    pub(crate) refused_answers: Arc<AtomicU64>,
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
