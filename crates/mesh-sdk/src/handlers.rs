//! The handlers of a broker's events, and how a delivery waits for one that is not there yet.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mesh_core::name::ConsumerName;
use mesh_core::port::Clock;
use mesh_core::subject::{Filter, Subject};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use crate::event::{HandlerError, ReceivedEvent};
use crate::places::{Aside, Place, until_stopped};

pub(crate) type Handler =
    Arc<dyn Fn(ReceivedEvent) -> BoxFuture<'static, Result<(), HandlerError>> + Send + Sync>;

/// How long a delivery waits for a handler to be registered before it is put back (protocol §3).
const HOLD: Duration = Duration::from_secs(30);
/// How many events are told to have no handler, each once; others choose their names.
const TOLD: usize = 100;

/// Why no handler was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unmatched {
    /// None was registered in time.
    Nobody,
    /// The broker leaves.
    Stopped,
}

#[derive(Default)]
pub(crate) struct Handlers {
    /// Nothing once the broker was closed.
    handlers: RwLock<Option<Vec<(Filter, Handler)>>>,
    registered: Notify,
    /// How many deliveries wait for a handler.
    waiting: AtomicUsize,
    told: Mutex<HashSet<String>>,
}

impl Handlers {
    pub(crate) fn new() -> Self {
        Self { handlers: RwLock::new(Some(Vec::new())), ..Self::default() }
    }

    /// Takes a handler; says whether it is not too late for one.
    pub(crate) fn register(&self, pattern: Filter, handler: Handler) -> bool {
        if let Some(handlers) = &mut *self.handlers.write() {
            handlers.retain(|(other, _)| *other != pattern);
            handlers.push((pattern, handler));
        } else {
            return false;
        }
        self.registered.notify_waiters();
        true
    }

    /// The patterns that have a handler.
    pub(crate) fn patterns(&self) -> Vec<Filter> {
        self.handlers.read().iter().flatten().map(|(pattern, _)| pattern.clone()).collect()
    }

    /// How many deliveries wait here for a handler.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Lets go of the handlers, and with them of the broker that they may hold.
    pub(crate) fn close(&self) {
        let handlers = self.handlers.write().take();
        drop(handlers);
    }

    fn of(&self, key: &Subject) -> Vec<(Filter, Handler)> {
        let handlers = self.handlers.read();
        handlers.iter().flatten().filter(|(pattern, _)| pattern.matches(key)).cloned().collect()
    }

    /// The handlers that match `key`, waiting for one to be registered. What waits leaves its place to
    /// others, and takes one again before its handler runs.
    pub(crate) async fn matching(
        &self,
        key: &Subject,
        clock: &dyn Clock,
        place: &Place,
    ) -> Result<Vec<(Filter, Handler)>, Unmatched> {
        let mut stop = place.stop();
        let mut waiting = None;
        let give_up = clock.sleep(HOLD);
        tokio::pin!(give_up);
        loop {
            let registered = self.registered.notified();
            tokio::pin!(registered);
            // From here on a registration is heard, so none slips in between look and wait.
            registered.as_mut().enable();
            let found = self.of(key);
            if !found.is_empty() {
                drop(waiting.take());
                if place.runs() {
                    return Ok(found);
                }
                tokio::select! {
                    biased;
                    () = until_stopped(&mut stop) => return Err(Unmatched::Stopped),
                    // By then there may be others.
                    () = place.come_back() => continue,
                }
            }
            waiting.get_or_insert_with(|| Waiting::begin(&self.waiting));
            tokio::select! {
                biased;
                () = until_stopped(&mut stop) => return Err(Unmatched::Stopped),
                () = &mut registered => {}
                () = &mut give_up => return Err(Unmatched::Nobody),
                () = place.step_aside(Aside::Handler), if place.runs() => {}
            }
        }
    }

    /// Says in the log that nobody handles `key`, the first time.
    pub(crate) fn tell(&self, key: &Subject, consumer: &ConsumerName) {
        let mut told = self.told.lock();
        if told.len() < TOLD && told.insert(key.to_string()) {
            tracing::warn!(%consumer, "events of {key} have no handler: each is held for {HOLD:?}, \
                put back, and after its last try a dead letter");
        }
    }
}

/// Counts a delivery for as long as it waits.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
