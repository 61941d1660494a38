use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::port::Clock;
use mesh_core::store::{BucketName, Handled, HandledKey, HandledStore, StoreError};

use crate::error::OpenError;
use crate::key::digest;
use crate::options::StoreOptions;
use crate::state::{BucketBounds, StoreBucket};
use crate::writer::{Outlives, Writer};

/// A file that remembers, held by one process. Clones are the same store; brokers of one process share it.
///
/// Calls that wait at the same time are written together. No call blocks the runtime: a thread of its own
/// has the file. At most 1,024 calls wait; whoever comes then waits before them.
///
/// Dropped, it finishes what waits and closes the file, on its thread. [`close`](Self::close) waits for
/// that.
#[derive(Clone)]
pub struct Store {
    path: Arc<PathBuf>,
    writer: Writer,
    clock: Arc<dyn Clock>,
    window: Duration,
}

/// What a store remembers of handled events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandledCounts {
    /// How many keys there are, with those that are over and not taken away yet.
    pub remembered: u64,
    /// How many went before their time since the file was opened, because there was no room.
    pub evicted: u64,
}

impl Store {
    /// Opens the file, and makes it, readable for its owner alone, where there is none. Its folder must be
    /// there, on a disk of this machine: locks are not to be trusted elsewhere.
    ///
    /// # Errors
    /// [`OpenError`], which names the file. Nothing was written to it then.
    pub async fn open(
        path: impl AsRef<Path>,
        clock: Arc<dyn Clock>,
        options: StoreOptions,
    ) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let writer = Writer::start(path, Arc::clone(&clock), options).await?;
        Ok(Self { path: Arc::new(path.to_owned()), writer, clock, window: options.handled.window })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it remembers of handled events.
    #[must_use]
    pub fn handled_counts(&self) -> HandledCounts {
        let counts = self.writer.counts();
        HandledCounts {
            remembered: counts.rows.load(Ordering::Relaxed).unsigned_abs(),
            evicted: counts.evicted.load(Ordering::Relaxed).unsigned_abs(),
        }
    }

    /// A bucket of shared state in this file, beside what it remembers of handled events: for leases,
    /// sessions and replay marks of one gateway. It is made by being written to. Opened again, the later
    /// bounds hold for all its handles, but for the backlog of those that watch.
    ///
    /// # Errors
    /// [`StoreError`] when the file can't be read, or is closed.
    pub async fn key_value(
        &self,
        bucket: &BucketName,
        bounds: BucketBounds,
    ) -> Result<StoreBucket, StoreError> {
        let (writer, clock) = (self.writer.clone(), Arc::clone(&self.clock));
        StoreBucket::open(writer, clock, bucket.clone(), bounds).await
    }

    #[cfg(test)]
    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Finishes what waits and closes the file, for every clone: calls that come later fail as
    /// [`Unavailable`](mesh_core::store::StoreErrorKind::Unavailable). So close the brokers first. Closing
    /// again does nothing.
    pub async fn close(&self) {
        self.writer.close().await;
    }
}

#[async_trait]
impl HandledStore for Store {
    /// What is noted here outlives a kill of the process and not a power cut, after which nobody is told
    /// that a run was cut off: it costs no wait for the disk.
    async fn begin(&self, key: &HandledKey) -> Result<Handled, StoreError> {
        let key = digest(key);
        let begin = self.writer.ask(Outlives::Kill, key, move |tables| {
            tables.handled.begin(tables.file, &key, tables.now)
        });
        begin.await
    }

    async fn record(&self, key: HandledKey) -> Result<(), StoreError> {
        let key = digest(&key);
        let record = self.writer.ask(Outlives::PowerCut, key, move |tables| {
            tables.handled.record(tables.file, &key, tables.now)
        });
        record.await
    }

    async fn forget(&self, key: &HandledKey) -> Result<(), StoreError> {
        let key = digest(key);
        let forget = self
            .writer
            .ask(Outlives::Kill, key, move |tables| tables.handled.forget(tables.file, &key));
        forget.await
    }

    fn window(&self) -> Duration {
        self.window
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path)
            .field("handled", &self.handled_counts())
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
