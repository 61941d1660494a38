//! Where arrivals in hand are: with a handler that runs, or aside, where they only wait.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};

/// How much may be in hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// How many handlers may run at a time.
    pub(crate) handlers: usize,
    /// How many arrivals may wait for their next try beside them.
    pub(crate) retries: usize,
    /// How many may wait for a handler to be registered beside those.
    pub(crate) unhandled: usize,
    /// Whether the connection gives back, and counts, what is in hand and was not settled when it closes.
    pub(crate) holds: bool,
}

impl Room {
    /// The most that can be in hand.
    pub(crate) fn total(self) -> usize {
        self.handlers.saturating_add(self.retries).saturating_add(self.unhandled)
    }
}

/// What an arrival waits for that needs no handler's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aside {
    /// Its next try.
    Retry,
    /// A handler that is registered for it.
    Handler,
}

/// All places of one subscription. Each arrival in hand has one at most: what waits for its turn among
/// events of its key has none, and counts among what is in hand.
#[derive(Debug)]
pub(crate) struct Places {
    in_hand: Arc<Semaphore>,
    running: Arc<Semaphore>,
    retries: Arc<Semaphore>,
    unhandled: Arc<Semaphore>,
    /// Somebody aside wants to run and finds no place.
    wanted: Notify,
    stopped: Stopped,
}

impl Places {
    /// `stopped` tells who only waits that it is to go back.
    pub(crate) fn new(room: Room, stopped: Stopped) -> Arc<Self> {
        let of = |places: usize| Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Arc::new(Self {
            in_hand: of(room.total()),
            running: of(room.handlers),
            retries: of(room.retries),
            unhandled: of(room.unhandled),
            wanted: Notify::new(),
            stopped,
        })
    }

    /// A handler's place, once one is free. Who asked first is given it first.
    pub(crate) async fn free(&self) -> Option<Free> {
        // Never closed.
        let in_hand = Arc::clone(&self.in_hand).acquire_owned().await.ok()?;
        let running = Arc::clone(&self.running).acquire_owned().await.ok()?;
        Some(Free { in_hand, running })
    }

    /// Returns when somebody wants the place that the reader keeps for what comes next.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// As [`free`](Self::free), for one that waits aside: the reader then gives up its own.
    async fn free_for_aside(&self) -> Option<OwnedSemaphorePermit> {
        let acquiring = Arc::clone(&self.running).acquire_owned();
        tokio::pin!(acquiring);
        let free = poll_fn(|context| {
            let polled = acquiring.as_mut().poll(context);
            if matches!(polled, Poll::Pending) {
                // It stands in the queue by now, before the reader, who will ask again.
                self.wanted.notify_one();
            }
            polled
        });
        free.await.ok()
    }

    fn aside(&self, aside: Aside) -> Arc<Semaphore> {
        Arc::clone(match aside {
            Aside::Retry => &self.retries,
            Aside::Handler => &self.unhandled,
        })
    }
}

/// A handler's place that nobody has.
#[derive(Debug)]
pub(crate) struct Free {
    in_hand: OwnedSemaphorePermit,
    running: OwnedSemaphorePermit,
}

/// An arrival's place.
pub(crate) struct Place {
    places: Arc<Places>,
    _in_hand: OwnedSemaphorePermit,
    seat: Mutex<Seat>,
}

#[derive(Debug)]
struct Seat {
    /// Of which semaphore tells `runs`.
    _permit: Option<OwnedSemaphorePermit>,
    runs: bool,
}

/// When all is to be finished, once there is a stop.
pub(crate) type Stopped = watch::Receiver<Option<Duration>>;

impl Place {
    /// That of a handler.
    pub(crate) fn new(places: Arc<Places>, free: Free) -> Self {
        let Free { in_hand, running } = free;
        let seat = Mutex::new(Seat { _permit: Some(running), runs: true });
        Self { places, _in_hand: in_hand, seat }
    }

    /// Whether it is a handler's.
    pub(crate) fn runs(&self) -> bool {
        self.seat.lock().runs
    }

    /// Leaves the handler's place to others, as soon as there is room aside; until then it keeps it,
    /// so that never more is in hand than there are places.
    pub(crate) async fn step_aside(&self, aside: Aside) {
        if !self.runs() {
            return;
        }
        if let Ok(permit) = self.places.aside(aside).acquire_owned().await {
            *self.seat.lock() = Seat { _permit: Some(permit), runs: false };
        }
    }

    /// Leaves the handler's place to others at once, and has none.
    pub(crate) fn leave(&self) {
        *self.seat.lock() = Seat { _permit: None, runs: false };
    }

    /// Takes a handler's place again, once one is free.
    pub(crate) async fn come_back(&self) {
        if self.runs() {
            return;
        }
        if let Some(permit) = self.places.free_for_aside().await {
            *self.seat.lock() = Seat { _permit: Some(permit), runs: true };
        }
    }

    /// What tells of the stop.
    pub(crate) fn stop(&self) -> Stopped {
        self.places.stopped.clone()
    }
}

/// Returns when nothing more is to be waited for: at the stop, or when the broker is gone.
pub(crate) async fn until_stopped(stop: &mut Stopped) {
    // An error says that the other end is gone, and the broker with it.
    let _ = stop.wait_for(Option::is_some).await;
}
