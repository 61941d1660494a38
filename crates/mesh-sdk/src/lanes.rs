//! Events of one key, one after the other.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use mesh_core::subject::Filter;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// A handler's pattern, and the key of its events.
type Key = (Filter, String);

/// Who waits for each key, who came first being first. A key that nobody has in hand takes no room.
#[derive(Default, Clone)]
pub(crate) struct Lanes(Arc<Mutex<ByKey>>);

type ByKey = HashMap<Arc<Key>, VecDeque<Arc<Notify>>>;

impl Lanes {
    /// The last place of this key's.
    pub(crate) fn join(&self, pattern: Filter, key: String) -> Turn {
        let (key, mine) = (Arc::new((pattern, key)), Arc::new(Notify::new()));
        self.0.lock().entry(Arc::clone(&key)).or_default().push_back(Arc::clone(&mine));
        Turn { lanes: self.clone(), key, mine }
    }
}

/// A place among the events of one key. Dropped, it is the next one's turn.
pub(crate) struct Turn {
    lanes: Lanes,
    key: Arc<Key>,
    mine: Arc<Notify>,
}

impl Turn {
    /// Whether none of its key is before it.
    pub(crate) fn has_come(&self) -> bool {
        let lanes = self.lanes.0.lock();
        let first = lanes.get(&self.key).and_then(VecDeque::front);
        first.is_some_and(|first| Arc::ptr_eq(first, &self.mine))
    }

    /// Returns when none of its key is before it.
    pub(crate) async fn come(&self) {
        while !self.has_come() {
            // Kept for us where it is told before we wait.
            self.mine.notified().await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut lanes = self.lanes.0.lock();
        let Some(lane) = lanes.get_mut(&self.key) else {
            return;
        };
        lane.retain(|other| !Arc::ptr_eq(other, &self.mine));
        match lane.front() {
            Some(first) => first.notify_one(),
            None => {
                lanes.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn turns_of_a_key_come_one_after_the_other_and_leave_nothing() {
        let lanes = Lanes::default();
        let join = |key: &str| lanes.join(mesh_testkit::fixtures::filter("a.*"), key.to_owned());
        let (first, second, third, other) = (join("k"), join("k"), join("k"), join("l"));
        assert!(first.has_come() && other.has_come());
        assert!(second.come().now_or_never().is_none());
        drop(second);
        assert!(!third.has_come(), "one that leaves takes no turn");
        drop(first);
        assert!(third.come().now_or_never().is_some());
        drop((third, other));
        assert!(lanes.0.lock().is_empty());
    }
}
