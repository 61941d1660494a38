//! What is remembered for a time and in bounded room, the oldest going first.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

/// Values by their keys, each until its time is over. When it is full the oldest goes.
#[derive(Debug)]
pub(crate) struct Marks<K, V> {
    capacity: usize,
    marks: HashMap<Arc<K>, Mark<V>>,
    /// The oldest first. A key that was recorded again, or taken out, has an older place here too,
    /// whose number is not the one that it has now.
    order: VecDeque<Place<K>>,
    recorded: u64,
}

#[derive(Debug)]
struct Mark<V> {
    number: u64,
    until: Duration,
    value: V,
}

#[derive(Debug)]
struct Place<K> {
    number: u64,
    until: Duration,
    key: Arc<K>,
}

impl<K: Eq + Hash, V> Marks<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        let (marks, order) = (HashMap::new(), VecDeque::new());
        Self { capacity: capacity.max(1), marks, order, recorded: 0 }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Remembers `value` until then, in place of what was there.
    pub(crate) fn put(&mut self, key: K, value: V, now: Duration, until: Duration) {
        self.recorded += 1;
        let (number, key) = (self.recorded, Arc::new(key));
        self.marks.insert(Arc::clone(&key), Mark { number, until, value });
        self.order.push_back(Place { number, until, key });
        self.forget(now);
    }

    pub(crate) fn get(&self, key: &K, now: Duration) -> Option<&V> {
        self.marks.get(key).filter(|mark| mark.until > now).map(|mark| &mark.value)
    }

    pub(crate) fn remove(&mut self, key: &K) {
        self.marks.remove(key);
    }

    /// How many are remembered.
    pub(crate) fn len(&mut self, now: Duration) -> usize {
        self.forget(now);
        self.marks.len()
    }

    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.order.len()
    }

    fn forget(&mut self, now: Duration) {
        while let Some(oldest) = self.order.front() {
            if oldest.until > now && self.marks.len() <= self.capacity {
                break;
            }
            if is_current(&self.marks, oldest) {
                self.marks.remove(&oldest.key);
            }
            self.order.pop_front();
        }
        if self.order.len() > self.capacity.saturating_mul(2) {
            let Self { marks, order, .. } = self;
            order.retain(|place| is_current(marks, place));
        }
    }
}

fn is_current<K: Eq + Hash, V>(marks: &HashMap<Arc<K>, Mark<V>>, place: &Place<K>) -> bool {
    marks.get(&place.key).is_some_and(|mark| mark.number == place.number)
}
