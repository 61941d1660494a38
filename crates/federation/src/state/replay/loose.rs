use std::collections::HashMap;
use std::time::Duration;

use mesh_core::store::StoreKey;
use parking_lot::Mutex;

/// Marks that may be in the store though their messages were refused: it gave no word when they were made
/// or removed.
#[derive(Debug, Default)]
pub(super) struct Loose(Mutex<HashMap<StoreKey, Duration>>);

/// How many are known at a time. One more is not known again, and its message is dropped as a repetition
/// until its mark ends.
pub(super) const MOST: usize = 4096;

impl Loose {
    /// It may be there until `end`.
    pub(super) fn leave(&self, key: StoreKey, end: Duration) {
        let mut loose = self.0.lock();
        if loose.len() < MOST || loose.contains_key(&key) {
            loose.insert(key, end);
        }
    }

    pub(super) fn has(&self, key: &StoreKey) -> bool {
        self.0.lock().contains_key(key)
    }

    /// It is nobody's from now on; whether it was one.
    pub(super) fn take(&self, key: &StoreKey) -> bool {
        let mut loose = self.0.lock();
        !loose.is_empty() && loose.remove(key).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Forgets those whose marks have ended by now.
    pub(super) fn reclaim(&self, now: Duration) -> usize {
        let mut loose = self.0.lock();
        let before = loose.len();
        loose.retain(|_, end| *end > now);
        if loose.is_empty() {
            loose.shrink_to_fit();
        }
        before - loose.len()
    }
}
