//! A bucket in the process.

mod table;
#[cfg(test)]
mod tests;
mod watching;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::port::Clock;
use mesh_core::store::{
    Changes, Entry, Expected, KeyValue, Removed, Revision, StoreError, StoreErrorKind, StoreKey,
    Written,
};
use parking_lot::Mutex;
use tokio::sync::broadcast;

use table::Table;

/// How much an [`InMemoryState`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made with `..StateLimits::default()`")]
pub struct StateLimits {
    /// How many entries. 1,000,000 unless told.
    pub entries: usize,
    /// How many bytes of keys and values together; beside them an entry takes some 250 bytes. 256 MiB
    /// unless told.
    pub bytes: usize,
    /// How many bytes one value may have. 64 KiB unless told.
    pub value: usize,
    /// How many changes a watcher may be behind; one that is further behind is told so, and its watch
    /// ends. 4,096 unless told.
    pub backlog: usize,
}

impl Default for StateLimits {
    fn default() -> Self {
        Self { entries: 1_000_000, bytes: 256 << 20, value: 64 << 10, backlog: 4096 }
    }
}

/// What an [`InMemoryState`] holds now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryUsage {
    /// Entries, with those that have expired and were not taken away yet.
    pub entries: usize,
    /// Bytes of their keys and values.
    pub bytes: usize,
}

/// A bucket in the memory of this process; clones are the same bucket. What it holds ends with the
/// process.
///
/// Nothing is pushed out: where it is full, a new key is refused as
/// [`Full`](StoreErrorKind::Full). Expired entries are taken away by whoever writes next, by watchers at
/// their time, and by [`reclaim`](Self::reclaim). It needs no task.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use mesh_core::store::{Expected, KeyValue as _, StoreKey, Written};
/// use mesh_federation::{InMemoryState, StateLimits};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let clock = Arc::new(mesh_clock::SystemClock::new());
/// let leases = InMemoryState::new(clock, StateLimits::default());
/// let (key, minute) = (StoreKey::new("lease.1")?, Duration::from_secs(60));
/// let Written::Done(revision) = leases.write(&key, "a".into(), minute, Expected::Absent).await?
/// else { unreachable!() };
/// let again = leases.write(&key, "b".into(), minute, Expected::Absent).await?;
/// assert_eq!(again, Written::Conflict);
/// assert!(matches!(
///     leases.write(&key, "c".into(), minute, Expected::Revision(revision)).await?,
///     Written::Done(_)
/// ));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct InMemoryState {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    limits: StateLimits,
    table: Mutex<Table>,
}

impl InMemoryState {
    /// An empty bucket. Entries expire by what `clock` measures.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, limits: StateLimits) -> Self {
        // More than this a channel can't have.
        let backlog = limits.backlog.clamp(1, usize::MAX >> 2);
        let table = Mutex::new(Table::new(broadcast::Sender::new(backlog)));
        Self { shared: Arc::new(Shared { clock, limits, table }) }
    }

    /// What it holds now.
    #[must_use]
    pub fn usage(&self) -> MemoryUsage {
        let table = self.shared.table.lock();
        MemoryUsage { entries: table.len(), bytes: table.bytes() }
    }

    /// Takes away what has expired, and tells how many entries that were. Call it from a timer, every few
    /// seconds: memory then shrinks without new traffic.
    pub fn reclaim(&self) -> usize {
        self.shared.table.lock().expire(self.shared.clock.monotonic())
    }
}

#[async_trait]
impl KeyValue for InMemoryState {
    async fn read(&self, key: &StoreKey) -> Result<Option<Entry>, StoreError> {
        let now = self.shared.clock.monotonic();
        Ok(self.shared.table.lock().read(key, now))
    }

    async fn write(
        &self,
        key: &StoreKey,
        value: Bytes,
        lifetime: Duration,
        expected: Expected,
    ) -> Result<Written, StoreError> {
        let limits = &self.shared.limits;
        if value.len() > limits.value {
            let detail = format!("{} bytes, at most {} are allowed", value.len(), limits.value);
            return Err(StoreError::new(StoreErrorKind::TooLarge, detail));
        }
        let now = self.shared.clock.monotonic();
        self.shared.table.lock().write(key, value, now, lifetime, expected, limits)
    }

    async fn remove(
        &self,
        key: &StoreKey,
        revision: Option<Revision>,
    ) -> Result<Removed, StoreError> {
        let now = self.shared.clock.monotonic();
        Ok(self.shared.table.lock().remove(key, revision, now))
    }

    async fn watch(&self) -> Result<Changes, StoreError> {
        Ok(watching::watch(&self.shared))
    }

    fn max_value(&self) -> usize {
        self.shared.limits.value
    }
}

impl fmt::Debug for InMemoryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InMemoryState")
            .field("usage", &self.usage())
            .field("limits", &self.shared.limits)
            .finish_non_exhaustive()
    }
}
