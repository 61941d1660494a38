use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::store::{
    Changes, Entry, Expected, KeyValue, Removed, Revision, StoreError, StoreErrorKind, StoreKey,
    Written,
};

use futures_util::{StreamExt as _, stream};
use tokio::sync::Notify;

use crate::InMemoryState;

fn away() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "cut off")
}

/// A store that can be away, for one gateway of several.
#[derive(Debug, Clone)]
pub(super) struct Reached {
    pub(super) inner: InMemoryState,
    away: Arc<AtomicBool>,
    calls: Arc<AtomicUsize>,
    cut: Arc<Notify>,
}

impl Reached {
    pub(super) fn new(inner: &InMemoryState) -> Self {
        Self {
            inner: inner.clone(),
            away: Arc::default(),
            calls: Arc::default(),
            cut: Arc::default(),
        }
    }

    pub(super) fn set(&self, away: bool) {
        self.away.store(away, Ordering::Relaxed);
        if away {
            self.cut.notify_waiters();
        }
    }

    pub(super) fn is_away(&self) -> bool {
        self.away.load(Ordering::Relaxed)
    }

    /// Others run before it answers, sooner or later.
    async fn check(&self) -> Result<(), StoreError> {
        for _ in 0..self.calls.fetch_add(1, Ordering::Relaxed) % 4 {
            tokio::task::yield_now().await;
        }
        if self.away.load(Ordering::Relaxed) {
            return Err(away());
        }
        Ok(())
    }
}

#[async_trait]
impl KeyValue for Reached {
    async fn read(&self, key: &StoreKey) -> Result<Option<Entry>, StoreError> {
        self.check().await?;
        self.inner.read(key).await
    }

    async fn write(
        &self,
        key: &StoreKey,
        value: Bytes,
        lifetime: Duration,
        expected: Expected,
    ) -> Result<Written, StoreError> {
        self.check().await?;
        self.inner.write(key, value, lifetime, expected).await
    }

    async fn remove(
        &self,
        key: &StoreKey,
        revision: Option<Revision>,
    ) -> Result<Removed, StoreError> {
        self.check().await?;
        self.inner.remove(key, revision).await
    }

    async fn watch(&self) -> Result<Changes, StoreError> {
        self.check().await?;
        let cut = Arc::clone(&self.cut);
        let end = stream::once(async { Err(away()) });
        let changes = self.inner.watch().await?;
        Ok(Box::pin(changes.take_until(Box::pin(async move { cut.notified().await })).chain(end)))
    }

    fn max_value(&self) -> usize {
        self.inner.max_value()
    }
}
