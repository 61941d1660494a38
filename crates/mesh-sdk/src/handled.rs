//! What was handled, remembered in memory.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::port::Clock;
use mesh_core::store::{Handled, HandledKey, HandledStore, StoreError};
use parking_lot::Mutex;

use crate::marks::Marks;
use crate::retry::RetryPolicy;

/// Remembers in memory: the last 100,000 keys, one for each handler of each event, each for
/// [`RetryPolicy::SPAN`]. "Once" holds while the process lives, and no run is called interrupted.
/// `mesh-store` has one that outlives it.
pub struct MemoryHandled {
    clock: Arc<dyn Clock>,
    window: Duration,
    marks: Mutex<Marks<HandledKey, ()>>,
}

impl MemoryHandled {
    /// Room for 100,000 keys, each remembered for [`RetryPolicy::SPAN`].
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_bounds(clock, 100_000, RetryPolicy::SPAN)
    }

    /// Room for `capacity` keys, each remembered for `window`. When it is full the oldest goes:
    /// an event that then came again would be handled again, as at-least-once allows.
    #[must_use]
    pub fn with_bounds(clock: Arc<dyn Clock>, capacity: usize, window: Duration) -> Self {
        Self { clock, window, marks: Mutex::new(Marks::new(capacity)) }
    }

    /// How many it remembers now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.marks.lock().len(self.clock.monotonic())
    }

    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.marks.lock().places()
    }

    /// Whether it remembers none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[async_trait]
impl HandledStore for MemoryHandled {
    async fn begin(&self, key: &HandledKey) -> Result<Handled, StoreError> {
        let now = self.clock.monotonic();
        let known = self.marks.lock().get(key, now).is_some();
        Ok(if known { Handled::Yes } else { Handled::No })
    }

    async fn record(&self, key: HandledKey) -> Result<(), StoreError> {
        let now = self.clock.monotonic();
        self.marks.lock().put(key, (), now, now.saturating_add(self.window));
        Ok(())
    }

    /// Nothing was noted when it began.
    async fn forget(&self, _key: &HandledKey) -> Result<(), StoreError> {
        Ok(())
    }

    fn window(&self) -> Duration {
        self.window
    }
}

impl fmt::Debug for MemoryHandled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryHandled")
            .field("capacity", &self.marks.lock().capacity())
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
