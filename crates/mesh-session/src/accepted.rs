//! What was accepted to be brought to the server, for the report of `close`.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mesh_core::port::{ErrorKind, TransportError};
use tokio::sync::Notify;

/// Counts live publishes, appends and answers.
#[derive(Debug, Default)]
pub struct Accepted {
    under_way: AtomicU64,
    brought: AtomicU64,
    unsure: AtomicU64,
    /// Woken when none is under way any more.
    idle: Notify,
}

/// How many there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// The server has them.
    pub brought: u64,
    /// They were given up, are under way yet or failed without the server's word.
    pub lost: u64,
}

/// One that is under way.
#[derive(Debug)]
pub struct UnderWay<A: Deref<Target = Accepted>>(A);

impl Accepted {
    /// One more is under way.
    pub fn begin(&self) -> UnderWay<&Self> {
        self.under_way.fetch_add(1, Relaxed);
        UnderWay(self)
    }

    /// One more is under way, and nobody waits for it.
    pub fn begin_unwatched(self: &Arc<Self>) -> UnderWay<Arc<Self>> {
        self.under_way.fetch_add(1, Relaxed);
        UnderWay(Arc::clone(self))
    }

    /// Whether none is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way.load(Relaxed) == 0
    }

    /// Returns when none is under way.
    pub async fn idle(&self) {
        loop {
            let idle = self.idle.notified();
            tokio::pin!(idle);
            idle.as_mut().enable();
            if self.is_idle() {
                return;
            }
            idle.await;
        }
    }

    /// All until now.
    pub fn tally(&self) -> Tally {
        let lost = self.under_way.load(Relaxed) + self.unsure.load(Relaxed);
        Tally { brought: self.brought.load(Relaxed), lost }
    }

    /// Those that ended before now; what is under way counts for later.
    pub fn ended(&self) -> Tally {
        Tally { brought: self.brought.load(Relaxed), lost: self.unsure.load(Relaxed) }
    }
}

impl Tally {
    /// What came to it after `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            brought: self.brought.saturating_sub(before.brought),
            lost: self.lost.saturating_sub(before.lost),
        }
    }
}

impl<A: Deref<Target = Accepted>> UnderWay<A> {
    /// Notes how it ended. Dropped without, nobody waits for it any more.
    ///
    /// # Errors
    /// That of `result`.
    pub fn end<T>(self, result: Result<T, TransportError>) -> Result<T, TransportError> {
        use ErrorKind::{Closed, Disconnected, TimedOut};
        match &result {
            Ok(_) => self.0.brought.fetch_add(1, Relaxed),
            Err(error) if matches!(error.kind(), Closed | Disconnected | TimedOut) => {
                self.0.unsure.fetch_add(1, Relaxed)
            }
            // The server's own no was said to whoever called.
            Err(_) => 0,
        };
        result
    }
}

impl<A: Deref<Target = Accepted>> Drop for UnderWay<A> {
    fn drop(&mut self) {
        if self.0.under_way.fetch_sub(1, Relaxed) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use mesh_core::port::Operation;

    use super::*;

    fn failed(kind: ErrorKind) -> Result<(), TransportError> {
        Err(TransportError::new(kind, Operation::Publish))
    }

    #[test]
    fn each_counts_once_and_a_refusal_not_at_all() {
        let accepted = Accepted::default();
        accepted.begin().end(Ok(())).unwrap();
        let before = accepted.ended();
        let (one, two, three, four) =
            (accepted.begin(), accepted.begin(), accepted.begin(), accepted.begin());
        assert!(!accepted.is_idle());
        one.end(Ok(())).unwrap();
        two.end(failed(ErrorKind::Disconnected)).unwrap_err();
        three.end(failed(ErrorKind::Denied)).unwrap_err();
        assert_eq!(accepted.tally().since(before), Tally { brought: 1, lost: 2 });
        drop(four);
        assert_eq!(accepted.tally().since(before), Tally { brought: 1, lost: 1 });
        assert!(accepted.is_idle());
    }
}
