//! A clock that a test moves by hand.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::port::Clock;
use mesh_core::time::Timestamp;
use parking_lot::Mutex;

/// How often the runtime may run what was woken before time moves on. Long chains of tasks that wake
/// each other need as many turns as they have links.
const TURNS: usize = 32;

/// Time that stands still until [`advance`](Self::advance) moves it. Clones are the same clock.
///
/// Sleepers wake in the order of their due times, those of one time in the order they went to
/// sleep, and what they wake runs before time moves on. That is exact on a single-threaded runtime.
///
/// ```
/// use std::time::Duration;
/// use mesh_core::port::Clock as _;
/// use mesh_testkit::clock::ManualClock;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let clock = ManualClock::new();
/// let sleeper = tokio::spawn({
///     let clock = clock.clone();
///     async move { clock.sleep(Duration::from_secs(30)).await }
/// });
/// clock.sleepers(1).await;
/// clock.advance(Duration::from_secs(29)).await;
/// assert!(!sleeper.is_finished());
/// clock.advance(Duration::from_secs(1)).await;
/// sleeper.await.unwrap();
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    start: Timestamp,
    now: Duration,
    next_id: u64,
    /// By due time, then by who came first.
    sleepers: BTreeMap<(Duration, u64), Waker>,
    /// Those who wait for somebody to go to sleep.
    watchers: Vec<Waker>,
}

impl ManualClock {
    /// A clock that stands at the beginning of 2026.
    #[must_use]
    pub fn new() -> Self {
        Self::at(Timestamp::from_millis(1_767_225_600_000))
    }

    /// A clock whose wall time begins at `start`.
    #[must_use]
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(Mutex::new(State {
            start,
            now: Duration::ZERO,
            next_id: 0,
            sleepers: BTreeMap::new(),
            watchers: Vec::new(),
        })))
    }

    /// Moves time by `duration`, stopping at each due time on the way and letting the sleepers of
    /// that time, and whatever they wake, run.
    pub async fn advance(&self, duration: Duration) {
        settle().await;
        let target = self.monotonic().saturating_add(duration);
        while let Some(due) = self.next_due().filter(|due| *due <= target) {
            self.move_to(due);
            settle().await;
        }
        self.move_to(target);
        settle().await;
    }

    /// Returns when at least `count` sleepers are waiting: what a test does before it moves time,
    /// so that it doesn't run ahead of the task it means to wake.
    pub async fn sleepers(&self, count: usize) {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if state.sleepers.len() >= count {
                return Poll::Ready(());
            }
            state.watchers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// How many are asleep.
    #[must_use]
    pub fn asleep(&self) -> usize {
        self.0.lock().sleepers.len()
    }

    /// When the next sleeper wakes, on [`monotonic`](Clock::monotonic)'s scale.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        let state = self.0.lock();
        state.sleepers.keys().next().map(|(due, _)| *due)
    }

    fn move_to(&self, time: Duration) {
        let mut state = self.0.lock();
        state.now = state.now.max(time);
        let now = state.now;
        let later = state.sleepers.split_off(&(now, u64::MAX));
        let woken = std::mem::replace(&mut state.sleepers, later);
        drop(state);
        for waker in woken.into_values() {
            waker.wake();
        }
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

/// Lets every task that is ready run, and those that they make ready.
pub(crate) async fn settle() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        let state = self.0.lock();
        let passed = i64::try_from(state.now.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(state.start.as_millis().saturating_add(passed))
    }

    fn monotonic(&self) -> Duration {
        self.0.lock().now
    }

    async fn sleep(&self, duration: Duration) {
        let key = {
            let mut state = self.0.lock();
            state.next_id += 1;
            (state.now.saturating_add(duration), state.next_id)
        };
        Sleep { clock: self, key }.await;
    }
}

struct Sleep<'a> {
    clock: &'a ManualClock,
    key: (Duration, u64),
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.0.lock();
        if state.now >= self.key.0 {
            return Poll::Ready(());
        }
        state.sleepers.insert(self.key, context.waker().clone());
        for watcher in state.watchers.drain(..) {
            watcher.wake();
        }
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        self.clock.0.lock().sleepers.remove(&self.key);
    }
}
