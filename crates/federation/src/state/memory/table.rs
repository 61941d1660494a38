//! The entries, and when each of them ends.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bytes::Bytes;
use mesh_core::store::{
    Change, Entry, Expected, Removed, Revision, StoreError, StoreErrorKind, StoreKey, Written,
};
use tokio::sync::broadcast;

use super::StateLimits;

/// See the module. Whatever changes it is told to the watchers while it is locked, so in one order.
pub(super) struct Table {
    entries: HashMap<StoreKey, Held>,
    /// By their ends, the next one first. A revision is another for each.
    ends: BTreeMap<(Duration, Revision), StoreKey>,
    last: u64,
    bytes: usize,
    changes: broadcast::Sender<Change>,
}

struct Held {
    entry: Entry,
    end: Duration,
}

impl Table {
    pub(super) fn new(changes: broadcast::Sender<Change>) -> Self {
        Self { entries: HashMap::new(), ends: BTreeMap::new(), last: 0, bytes: 0, changes }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn read(&self, key: &StoreKey, now: Duration) -> Option<Entry> {
        let held = self.entries.get(key)?;
        (held.end > now).then(|| held.entry.clone())
    }

    pub(super) fn write(
        &mut self,
        key: &StoreKey,
        value: Bytes,
        now: Duration,
        lifetime: Duration,
        expected: Expected,
        limits: &StateLimits,
    ) -> Result<Written, StoreError> {
        self.expire(now);
        let held = self.entries.get(key);
        let fits = match expected {
            Expected::Any => true,
            Expected::Absent => held.is_none(),
            Expected::Revision(revision) => held.is_some_and(|h| h.entry.revision == revision),
        };
        if !fits {
            return Ok(Written::Conflict);
        }
        let size = |value: &Bytes| key.as_str().len() + value.len();
        let before = held.map(|held| size(&held.entry.value));
        let bytes = self.bytes - before.unwrap_or(0) + size(&value);
        let grows = before.is_none_or(|before| size(&value) > before);
        if (before.is_none() && self.entries.len() >= limits.entries)
            || (grows && bytes > limits.bytes)
        {
            return Err(StoreError::new(StoreErrorKind::Full, "the bucket is full"));
        }
        self.take(key);
        self.last += 1;
        let revision = Revision(self.last);
        // The least span that there is: an entry of no time would not be there at all.
        let end = now.saturating_add(lifetime.max(Duration::from_nanos(1)));
        let entry = Entry { value, revision };
        self.ends.insert((end, revision), key.clone());
        self.entries.insert(key.clone(), Held { entry: entry.clone(), end });
        self.bytes = bytes;
        self.tell(|| Change::Written(key.clone(), entry));
        Ok(Written::Done(revision))
    }

    pub(super) fn remove(
        &mut self,
        key: &StoreKey,
        revision: Option<Revision>,
        now: Duration,
    ) -> Removed {
        self.expire(now);
        let Some(held) = self.entries.get(key) else { return Removed::Done };
        if revision.is_some_and(|revision| revision != held.entry.revision) {
            return Removed::Conflict;
        }
        self.take(key);
        self.tell(|| Change::Removed(key.clone()));
        Removed::Done
    }

    /// Takes away what has expired by now; how many entries.
    pub(super) fn expire(&mut self, now: Duration) -> usize {
        let mut expired = 0;
        while let Some(first) = self.ends.first_entry().filter(|first| first.key().0 <= now) {
            let key = first.get().clone();
            self.take(&key);
            self.tell(|| Change::Removed(key));
            expired += 1;
        }
        expired
    }

    /// When the next entry ends.
    pub(super) fn next_end(&self) -> Option<Duration> {
        self.ends.first_key_value().map(|((end, _), _)| *end)
    }

    /// All that stands there now, and what changes from now on.
    pub(super) fn watch(&mut self, now: Duration) -> (Vec<Change>, broadcast::Receiver<Change>) {
        self.expire(now);
        let entries = self.entries.iter();
        let present = entries.map(|(key, held)| Change::Written(key.clone(), held.entry.clone()));
        (present.collect(), self.changes.subscribe())
    }

    fn take(&mut self, key: &StoreKey) {
        let Some(Held { entry, end }) = self.entries.remove(key) else { return };
        self.ends.remove(&(end, entry.revision));
        self.bytes -= key.as_str().len() + entry.value.len();
    }

    fn tell(&self, change: impl FnOnce() -> Change) {
        if self.changes.receiver_count() > 0 {
            // Nobody may be there any more.
            let _ = self.changes.send(change());
        }
    }
}
