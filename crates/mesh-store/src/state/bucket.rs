use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::port::Clock;
use mesh_core::store::{
    BucketName, Changes, Entry, Expected, KeyValue, Removed, Revision, StoreError, StoreErrorKind,
    StoreKey, Written,
};

use super::table::StateTable;
use super::{BucketBounds, lasting, watching};
use crate::key::{Digest, digest_of};
use crate::writer::{Outlives, Writer};

/// A bucket in a [`Store`](crate::Store)'s file; clones are the same bucket.
///
/// - One process has the file, so this is for one gateway. What it holds survives a kill and a restart, and
///   ends by the time that passes meanwhile, too.
/// - Nothing is pushed out: where it is full, a new key is refused as
///   [`Full`](StoreErrorKind::Full).
/// - Lifetimes are rounded up to whole milliseconds.
#[derive(Clone)]
pub struct StoreBucket {
    name: BucketName,
    bounds: BucketBounds,
    writer: Writer,
    clock: Arc<dyn Clock>,
}

impl StoreBucket {
    pub(crate) async fn open(
        writer: Writer,
        clock: Arc<dyn Clock>,
        name: BucketName,
        bounds: BucketBounds,
    ) -> Result<Self, StoreError> {
        let bucket = Self { name, bounds, writer, clock };
        let (name, bounds) = (bucket.name.clone(), bucket.bounds);
        let admit = bucket.writer.ask(Outlives::Kill, bucket.about(""), move |tables| {
            tables.state.admit(tables.file, &name, bounds)
        });
        admit.await?;
        Ok(bucket)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &BucketName {
        &self.name
    }

    pub(super) fn writer(&self) -> &Writer {
        &self.writer
    }

    pub(super) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// What calls about one key have in common: they are done in their order.
    pub(super) fn about(&self, key: &str) -> Digest {
        digest_of(["state", self.name.as_str(), key])
    }

    fn outlives(&self) -> Outlives {
        if self.bounds.outlives_power_cuts { Outlives::PowerCut } else { Outlives::Kill }
    }
}

#[async_trait]
impl KeyValue for StoreBucket {
    async fn read(&self, key: &StoreKey) -> Result<Option<Entry>, StoreError> {
        let (name, about, key) = (self.name.clone(), self.about(key.as_str()), key.clone());
        let read = self.writer.ask(Outlives::Kill, about, move |tables| {
            StateTable::read(tables.file, &name, &key, tables.now)
        });
        read.await
    }

    async fn write(
        &self,
        key: &StoreKey,
        value: Bytes,
        lifetime: Duration,
        expected: Expected,
    ) -> Result<Written, StoreError> {
        if value.len() > self.bounds.value {
            let detail =
                format!("{} bytes, at most {} are allowed", value.len(), self.bounds.value);
            return Err(StoreError::new(StoreErrorKind::TooLarge, detail));
        }
        let (name, about, key) = (self.name.clone(), self.about(key.as_str()), key.clone());
        let write = self.writer.ask(self.outlives(), about, move |tables| {
            let ends = tables.now.saturating_add(lasting(lifetime));
            tables.state.write(tables.file, &name, (&key, &value, ends), expected, tables.now)
        });
        let full = || StoreError::new(StoreErrorKind::Full, "the bucket is full");
        write.await?.ok_or_else(full)
    }

    async fn remove(
        &self,
        key: &StoreKey,
        revision: Option<Revision>,
    ) -> Result<Removed, StoreError> {
        let (name, about, key) = (self.name.clone(), self.about(key.as_str()), key.clone());
        let remove = self.writer.ask(self.outlives(), about, move |tables| {
            tables.state.remove(tables.file, &name, &key, revision, tables.now)
        });
        remove.await
    }

    async fn watch(&self) -> Result<Changes, StoreError> {
        watching::watch(self.clone()).await
    }

    fn max_value(&self) -> usize {
        self.bounds.value
    }
}

impl fmt::Debug for StoreBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreBucket")
            .field("name", &self.name)
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}
