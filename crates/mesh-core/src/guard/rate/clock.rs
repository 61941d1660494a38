use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use governor::clock::Clock;
use governor::nanos::Nanos;

/// The limiter's clock: it shows the latest time that was passed in, and never goes back.
#[derive(Debug, Clone, Default)]
pub(super) struct PassedIn(Arc<AtomicU64>);

impl PassedIn {
    pub(super) fn advance(&self, nanos: u64) {
        // A plain look first: a clock that stands still costs no write to shared memory.
        if self.0.load(Ordering::Relaxed) < nanos {
            self.0.fetch_max(nanos, Ordering::Relaxed);
        }
    }
}

impl Clock for PassedIn {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.load(Ordering::Relaxed).into()
    }
}
