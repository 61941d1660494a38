//! What a connection counts over all its sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module. Shown by the `Debug` of the connection's ports.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters {
    /// Answers that nobody waited for any more.
    pub(crate) late: Arc<AtomicU64>,
    /// Arrivals that were refused: of a key that is not asked for, of no proven sender, not decodable.
    pub(crate) refused: Arc<AtomicU64>,
    /// Messages that were published again, because no confirmation came.
    pub(crate) resent: Arc<AtomicU64>,
}

/// One more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
