//! Which session each subscription has its place in, and which of them are being left.

use std::collections::{BTreeSet, HashMap};
use std::pin::pin;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The subscriptions of a connection, by their ids.
#[derive(Debug, Default)]
pub struct Places {
    inner: Mutex<Inner>,
    gone: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// The session that each was last placed in.
    sessions: HashMap<u64, u64>,
    /// Those whose readers are gone, and of which the server may not have been told.
    leaving: BTreeSet<u64>,
}

impl Places {
    /// Says that it has its place in that session.
    pub fn placed(&self, id: u64, session: u64) {
        self.inner.lock().sessions.insert(id, session);
    }

    /// Says that its reader is gone.
    pub fn leaves(&self, id: u64) {
        let mut inner = self.inner.lock();
        if inner.sessions.contains_key(&id) {
            inner.leaving.insert(id);
        }
    }

    /// Says that it is over, and that the client was told to tell the server.
    pub fn gone(&self, id: u64) {
        let mut inner = self.inner.lock();
        inner.sessions.remove(&id);
        inner.leaving.remove(&id);
        drop(inner);
        self.gone.notify_waiters();
    }

    /// Whether all of them have their places in that session.
    pub fn are_in(&self, session: u64) -> bool {
        self.inner.lock().sessions.values().all(|place| *place == session)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.inner.lock().sessions.len()
    }

    /// Returns when those are over whose readers are gone now.
    pub async fn left(&self) {
        let leaving = self.inner.lock().leaving.clone();
        self.until(|inner| inner.leaving.is_disjoint(&leaving)).await;
    }

    /// Returns when there are none.
    pub async fn empty(&self) {
        self.until(|inner| inner.sessions.is_empty()).await;
    }

    async fn until(&self, done: impl Fn(&Inner) -> bool) {
        loop {
            let mut gone = pin!(self.gone.notified());
            gone.as_mut().enable();
            if done(&self.inner.lock()) {
                return;
            }
            gone.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn whoever_waits_for_what_leaves_waits_for_that_alone() {
        let places = Places::default();
        (1..=3).for_each(|id| places.placed(id, 1));
        assert!(places.left().now_or_never().is_some());
        places.leaves(1);
        let mut left = pin!(places.left());
        assert!(left.as_mut().now_or_never().is_none());
        places.leaves(2);
        places.gone(1);
        assert!(left.now_or_never().is_some());
        assert!(places.left().now_or_never().is_none());
        assert!(places.empty().now_or_never().is_none());
        (2..=3).for_each(|id| places.gone(id));
        assert!(places.empty().now_or_never().is_some());
    }

    #[test]
    fn what_is_over_does_not_leave_any_more() {
        let places = Places::default();
        places.placed(1, 1);
        places.gone(1);
        places.leaves(1);
        assert!(places.left().now_or_never().is_some());
    }
}
