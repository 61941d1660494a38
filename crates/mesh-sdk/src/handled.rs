//! Which events were handled, so that one that comes again is not handled again (protocol §3).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::event::EventId;
use mesh_core::name::{ConsumerName, ModuleName};
use mesh_core::port::Clock;
use mesh_core::subject::Filter;
use parking_lot::Mutex;

use crate::marks::Marks;
use crate::retry::RetryPolicy;

/// What is handled once: one event, by one handler of one consumer (protocol §3). Two nodes that share
/// a store are two consumers. An id is its emitter's own, so the emitting module, as the subject
/// proves it, is part of the key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "stores build and read it")]
pub struct HandledKey {
    /// The consumer: `<node>_<module>`.
    pub consumer: ConsumerName,
    /// The handler: its pattern.
    pub handler: Filter,
    /// The emitting module.
    pub module: ModuleName,
    /// The event.
    pub event: EventId,
}

/// Whether an event was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "yes or no")]
pub enum Handled {
    /// It was, by this handler.
    Yes,
    /// It was not, or longer ago than the store remembers.
    No,
}

/// Remembers what was handled. Recorded after the handler succeeded and before the broker is told.
#[async_trait]
pub trait HandledStore: Send + Sync + fmt::Debug {
    /// Whether it was handled.
    ///
    /// # Errors
    /// When the store can't say: the event is then tried again later.
    async fn look_up(&self, key: &HandledKey) -> Result<Handled, String>;

    /// Records it, perhaps not for the first time: it is remembered from now on.
    ///
    /// # Errors
    /// When it could not be recorded: the event is then tried again later.
    async fn record(&self, key: HandledKey) -> Result<(), String>;

    /// How long it remembers, at least. A broker is built only on a store that remembers for
    /// [`RetryPolicy::SPAN`], all that the tries of an event can take.
    fn window(&self) -> Duration;
}

/// Remembers in memory: the last 100,000 keys, one for each handler of each event, each for
/// [`RetryPolicy::SPAN`]. "Once" holds while the process lives.
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
    async fn look_up(&self, key: &HandledKey) -> Result<Handled, String> {
        let now = self.clock.monotonic();
        let known = self.marks.lock().get(key, now).is_some();
        Ok(if known { Handled::Yes } else { Handled::No })
    }

    async fn record(&self, key: HandledKey) -> Result<(), String> {
        let now = self.clock.monotonic();
        self.marks.lock().put(key, (), now, now.saturating_add(self.window));
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
