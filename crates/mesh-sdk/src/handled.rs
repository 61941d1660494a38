//! Which events were handled, so that one that comes again is not handled again (protocol §3).

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::event::EventId;
use mesh_core::name::{ConsumerName, ModuleName};
use mesh_core::port::Clock;
use mesh_core::subject::Filter;
use parking_lot::Mutex;

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

    /// Records it.
    ///
    /// # Errors
    /// When it could not be recorded: the event is then tried again later.
    async fn record(&self, key: HandledKey) -> Result<(), String>;
}

/// Remembers in memory: the last 100,000 events, each for ten minutes, which is longer than five
/// tries of 30 s with their waits. "Once" holds while the process lives.
pub struct MemoryHandled {
    clock: Arc<dyn Clock>,
    capacity: usize,
    window: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    until: HashMap<Arc<HandledKey>, Duration>,
    order: VecDeque<(Duration, Arc<HandledKey>)>,
}

impl MemoryHandled {
    /// Room for 100,000 events of ten minutes.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_bounds(clock, 100_000, Duration::from_secs(600))
    }

    /// Room for `capacity` events, each remembered for `window`. When it is full the oldest goes:
    /// an event that then came again would be handled again, as at-least-once allows.
    #[must_use]
    pub fn with_bounds(clock: Arc<dyn Clock>, capacity: usize, window: Duration) -> Self {
        Self { clock, capacity: capacity.max(1), window, state: Mutex::default() }
    }

    /// How many it remembers now.
    #[must_use]
    pub fn len(&self) -> usize {
        let mut state = self.state.lock();
        state.forget(self.clock.monotonic(), self.capacity);
        state.until.len()
    }

    /// Whether it remembers none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl State {
    fn forget(&mut self, now: Duration, capacity: usize) {
        while let Some((until, key)) = self.order.front() {
            if *until > now && self.until.len() <= capacity {
                return;
            }
            // A key that was recorded again has a later end in the map; that entry is not this one.
            if self.until.get(key) == Some(until) {
                self.until.remove(key);
            }
            self.order.pop_front();
        }
    }
}

#[async_trait]
impl HandledStore for MemoryHandled {
    async fn look_up(&self, key: &HandledKey) -> Result<Handled, String> {
        let now = self.clock.monotonic();
        let known = self.state.lock().until.get(key).is_some_and(|until| *until > now);
        Ok(if known { Handled::Yes } else { Handled::No })
    }

    async fn record(&self, key: HandledKey) -> Result<(), String> {
        let now = self.clock.monotonic();
        let (until, key) = (now.saturating_add(self.window), Arc::new(key));
        let mut state = self.state.lock();
        state.until.insert(Arc::clone(&key), until);
        state.order.push_back((until, key));
        state.forget(now, self.capacity);
        Ok(())
    }
}

impl fmt::Debug for MemoryHandled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryHandled")
            .field("capacity", &self.capacity)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
