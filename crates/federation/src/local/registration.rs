use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mesh_core::mx::MxPath;
use mesh_core::port::Clock;
use tokio::sync::oneshot;

use super::host::Place;
use super::serving::{Serving, serve};
use super::{Listening, Task};

/// A command that is taken. Dropped, nobody takes it any more, and handlers that still run are given up;
/// [`close`](Self::close) lets them finish.
#[must_use = "dropped, the command is not taken any more"]
pub struct Registration {
    path: MxPath<'static>,
    clock: Arc<dyn Clock>,
    counts: Arc<Counts>,
    stop: Option<oneshot::Sender<Duration>>,
    task: Task,
    _place: Place,
}

/// What became of the calls of one command since it was registered, and how it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostCounts {
    /// Calls that are being handled now.
    pub running: u64,
    /// Calls that were answered with a body.
    pub answered: u64,
    /// Calls that the handler answered with a fault.
    pub refused: u64,
    /// Calls whose handler panicked.
    pub panicked: u64,
    /// Calls whose handler took too long.
    pub overdue: u64,
    /// Calls whose handler was given up at the end.
    pub given_up: u64,
    /// Messages that are no request.
    pub undecodable: u64,
    /// Requests to be answered elsewhere than at a reply topic of this realm. No handler ran.
    pub foreign_reply: u64,
    /// Answers that the bus did not take.
    pub unanswered: u64,
    /// Calls that were lost, since more waited than may.
    pub lost: u64,
    /// How often the bus was away, or the subscription; calls may have been missed.
    pub interrupted: u64,
    /// Whether the bus delivers calls now.
    pub listening: bool,
}

/// What became of the calls that were under way when a registration was closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "two counts and no more")]
pub struct HostReport {
    /// Handled to their end.
    pub finished: u64,
    /// Given up.
    pub given_up: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) running: AtomicU64,
    pub(super) answered: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) panicked: AtomicU64,
    pub(super) overdue: AtomicU64,
    pub(super) given_up: AtomicU64,
    pub(super) undecodable: AtomicU64,
    pub(super) foreign_reply: AtomicU64,
    pub(super) unanswered: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) interrupted: AtomicU64,
    pub(super) listening: AtomicBool,
}

pub(super) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Registration {
    pub(super) fn start(
        serving: Serving,
        listening: Listening,
        concurrency: NonZeroUsize,
        place: Place,
    ) -> Self {
        let path = serving.path.clone();
        let clock = Arc::clone(serving.connection.clock());
        let counts = Arc::clone(&serving.counts);
        counts.listening.store(true, Ordering::Relaxed);
        let (stop, stopped) = oneshot::channel();
        let task = Task::spawn(serve(Arc::new(serving), listening, concurrency, stopped));
        Self { path, clock, counts, stop: Some(stop), task, _place: place }
    }

    /// The command.
    #[must_use]
    pub fn path(&self) -> &MxPath<'static> {
        &self.path
    }

    /// How it stands.
    #[must_use]
    pub fn counts(&self) -> HostCounts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &*self.counts;
        HostCounts {
            running: of(&counts.running),
            answered: of(&counts.answered),
            refused: of(&counts.refused),
            panicked: of(&counts.panicked),
            overdue: of(&counts.overdue),
            given_up: of(&counts.given_up),
            undecodable: of(&counts.undecodable),
            foreign_reply: of(&counts.foreign_reply),
            unanswered: of(&counts.unanswered),
            lost: of(&counts.lost),
            interrupted: of(&counts.interrupted),
            listening: counts.listening.load(Ordering::Relaxed),
        }
    }

    /// Takes no more calls, and lets handlers finish, for `timeout` at most.
    pub async fn close(mut self, timeout: Duration) -> HostReport {
        let before = self.counts();
        if let Some(stop) = self.stop.take() {
            // The task may have ended with the connection: then there is nobody to tell.
            let _ = stop.send(self.clock.monotonic().saturating_add(timeout));
        }
        self.task.ended().await;
        let after = self.counts();
        let ended = |counts: HostCounts| {
            counts.answered + counts.refused + counts.panicked + counts.overdue
        };
        HostReport {
            finished: ended(after) - ended(before),
            given_up: after.given_up - before.given_up,
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration")
            .field("path", &self.path)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
