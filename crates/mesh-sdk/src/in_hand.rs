//! What is being handled right now, so that two copies of an event, or two grants to one consumer, are
//! not handled side by side.

use std::collections::HashSet;
use std::hash::Hash;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The keys in hand. As many as there are handlers running.
pub(crate) struct InHand<K> {
    keys: Mutex<HashSet<K>>,
    freed: Notify,
}

impl<K> Default for InHand<K> {
    fn default() -> Self {
        Self { keys: Mutex::default(), freed: Notify::new() }
    }
}

/// The turn of one key, given back when it is dropped.
pub(crate) struct Turn<'a, K: Eq + Hash> {
    of: &'a InHand<K>,
    key: K,
}

impl<K: Clone + Eq + Hash> InHand<K> {
    /// Returns when nobody else has `key` in hand.
    pub(crate) async fn take(&self, key: K) -> Turn<'_, K> {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.keys.lock().insert(key.clone()) {
                return Turn { of: self, key };
            }
            freed.await;
        }
    }
}

impl<K: Eq + Hash> Drop for Turn<'_, K> {
    fn drop(&mut self) {
        self.of.keys.lock().remove(&self.key);
        self.of.freed.notify_waiters();
    }
}
