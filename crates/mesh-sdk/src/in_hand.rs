//! What is being handled right now, so that two copies of an event are not handled side by side.

use std::collections::HashSet;

use mesh_core::store::HandledKey;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The keys in hand. As many as there are handlers running.
#[derive(Default)]
pub(crate) struct InHand {
    keys: Mutex<HashSet<HandledKey>>,
    freed: Notify,
}

/// The turn of one key, given back when it is dropped.
pub(crate) struct Turn<'a> {
    of: &'a InHand,
    key: HandledKey,
}

impl InHand {
    /// Returns when nobody else has `key` in hand.
    pub(crate) async fn take(&self, key: HandledKey) -> Turn<'_> {
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

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.of.keys.lock().remove(&self.key);
        self.of.freed.notify_waiters();
    }
}
