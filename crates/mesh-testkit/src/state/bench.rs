use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use mesh_core::store::{
    BucketName, Change, Changes, Entry, Expected, KeyValue, Revision, StoreError, StoreKey, Written,
};

use super::StateBed;
use crate::suite::Failure;

/// What a case is given: a store, and words for what it does with it.
pub(super) struct Bench {
    pub(super) bed: Arc<dyn StateBed>,
    /// Over soon.
    pub(super) short: Duration,
    patience: Duration,
}

/// Not over while a case runs, also where time is moved.
pub(super) const LONG: u32 = 1000;

impl Bench {
    pub(super) fn new(bed: Arc<dyn StateBed>, short: Duration, patience: Duration) -> Self {
        Self { bed, short, patience }
    }

    pub(super) async fn stop(&self) {
        // A store that doesn't stop must not hide the outcome of its case.
        let _ = tokio::time::timeout(self.patience, self.bed.stop()).await;
    }

    pub(super) fn long(&self) -> Duration {
        self.short * LONG
    }

    /// A handle of its own of the bucket that most cases use.
    pub(super) async fn open(&self) -> Result<Handle, Failure> {
        self.open_bucket("one").await
    }

    pub(super) async fn open_bucket(&self, name: &str) -> Result<Handle, Failure> {
        let opened = self.bed.open(&BucketName::new(name)?).await;
        let store = opened.map_err(|error| Failure::new(format!("bucket {name}: {error}")))?;
        Ok(Handle { store, long: self.long() })
    }

    pub(super) async fn open_small(&self) -> Result<Handle, Failure> {
        let opened = self.bed.open_small(&BucketName::new("small")?).await;
        let store = opened.map_err(|error| Failure::new(format!("a small bucket: {error}")))?;
        Ok(Handle { store, long: self.long() })
    }

    pub(super) async fn watch(&self, handle: &Handle) -> Result<Watch, Failure> {
        let changes = handle.store.watch().await?;
        Ok(Watch { changes, patience: self.patience })
    }

    /// Lets time pass until `done` says so.
    pub(super) async fn until<F>(
        &self,
        what: &str,
        mut done: impl FnMut() -> F,
    ) -> Result<(), Failure>
    where
        F: Future<Output = Result<bool, Failure>>,
    {
        let waiting = async {
            while !done().await? {
                self.bed.pass(self.short / 8).await;
            }
            Ok(())
        };
        let late = || Failure::new(format!("{what}: not within {:?}", self.patience));
        tokio::time::timeout(self.patience, waiting).await.unwrap_or_else(|_| Err(late()))
    }

    /// Lets time pass until the entry is gone.
    pub(super) async fn until_gone(&self, handle: &Handle, key: &str) -> Result<(), Failure> {
        let gone = || async { Ok(handle.read(key).await?.is_none()) };
        self.until(&format!("{key} expires"), gone).await
    }
}

/// A handle, with keys as text.
#[derive(Clone)]
pub(super) struct Handle {
    pub(super) store: Arc<dyn KeyValue>,
    long: Duration,
}

impl Handle {
    pub(super) async fn read(&self, name: &str) -> Result<Option<Entry>, Failure> {
        Ok(self.store.read(&key(name)?).await?)
    }

    /// The value as text.
    pub(super) async fn text(&self, name: &str) -> Result<Option<String>, Failure> {
        Ok(self.read(name).await?.map(|entry| text(&entry.value)))
    }

    /// Writes it for long.
    pub(super) async fn write(
        &self,
        name: &str,
        value: impl Into<Bytes> + Send,
        expected: Expected,
    ) -> Result<Written, Failure> {
        Ok(self.try_write(name, value, expected).await?)
    }

    /// The same, with the store's own error.
    pub(super) async fn try_write(
        &self,
        name: &str,
        value: impl Into<Bytes> + Send,
        expected: Expected,
    ) -> Result<Written, StoreError> {
        let key = StoreKey::new(name).map_err(|error| {
            StoreError::new(mesh_core::store::StoreErrorKind::Other, error.to_string())
        })?;
        self.store.write(&key, value.into(), self.long, expected).await
    }

    /// Writes it, whatever stands there.
    pub(super) async fn put(
        &self,
        name: &str,
        value: impl Into<Bytes> + Send,
    ) -> Result<Revision, Failure> {
        done(self.write(name, value, Expected::Any).await?)
    }

    /// Writes it, whatever stands there, for so long.
    pub(super) async fn lasting(
        &self,
        name: &str,
        value: &'static str,
        lifetime: Duration,
    ) -> Result<Revision, Failure> {
        done(self.store.write(&key(name)?, value.into(), lifetime, Expected::Any).await?)
    }
}

/// The revision of what was written.
pub(super) fn done(written: Written) -> Result<Revision, Failure> {
    match written {
        Written::Done(revision) => Ok(revision),
        Written::Conflict => Err(Failure::new("a conflict where nothing stands in the way")),
    }
}

pub(super) fn key(name: &str) -> Result<StoreKey, Failure> {
    Ok(StoreKey::new(name)?)
}

pub(super) fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// The changes of a bucket, each within the patience.
pub(super) struct Watch {
    changes: Changes,
    patience: Duration,
}

impl Watch {
    pub(super) async fn next(&mut self) -> Result<Option<Result<Change, StoreError>>, Failure> {
        let next = tokio::time::timeout(self.patience, self.changes.next()).await;
        next.map_err(|_| Failure::new(format!("no change within {:?}", self.patience)))
    }

    /// The next change, which is no error.
    pub(super) async fn change(&mut self) -> Result<Change, Failure> {
        match self.next().await? {
            Some(change) => Ok(change?),
            None => Err(Failure::new("the watch ended without an error")),
        }
    }

    /// All changes until what stood there has been told, without that word.
    pub(super) async fn present(&mut self) -> Result<Vec<Change>, Failure> {
        let mut present = Vec::new();
        loop {
            match self.change().await? {
                Change::Caught => return Ok(present),
                change => present.push(change),
            }
        }
    }

    /// The error that ends it, after whatever comes before.
    pub(super) async fn error(&mut self) -> Result<StoreError, Failure> {
        loop {
            match self.next().await? {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Ok(error),
                None => return Err(Failure::new("the watch ended without an error")),
            }
        }
    }
}

/// A change in few words: `a=1`, `-a`, `caught`.
pub(super) fn word(change: &Change) -> String {
    match change {
        Change::Written(key, entry) => format!("{key}={}", text(&entry.value)),
        Change::Removed(key) => format!("-{key}"),
        Change::Caught => "caught".to_owned(),
    }
}
