use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::{StoreError, StoreKey};

/// Entries that several processes may share and that end by themselves: leases, sessions, replay marks
/// (protocol §8, durable state). One value of this type is one bucket; keys of different buckets never
/// meet.
#[async_trait]
pub trait KeyValue: Send + Sync + fmt::Debug {
    /// The entry of `key`, if there is one that has not expired.
    ///
    /// # Errors
    /// [`StoreError`] when the store can't say.
    async fn read(&self, key: &StoreKey) -> Result<Option<Entry>, StoreError>;

    /// Writes `value` if what stands there is as `expected`, and lets it expire `lifetime` from now.
    /// Of two who write at once with the same expectation, one is told `Conflict`.
    ///
    /// # Errors
    /// [`StoreError`] when it can't be said to be written. It may have been.
    async fn write(
        &self,
        key: &StoreKey,
        value: Bytes,
        lifetime: Duration,
        expected: Expected,
    ) -> Result<Written, StoreError>;

    /// Removes the entry, if it is still that of `expected`. An entry that is gone is removed.
    ///
    /// # Errors
    /// [`StoreError`] when it can't be said to be removed.
    async fn remove(&self, key: &StoreKey, expected: Expected) -> Result<Written, StoreError>;

    /// All that has not expired, in no order, and what changes from then on. The present entries come
    /// first, then one [`Change::Caught`], then changes. Nothing is left out; where the store can't
    /// vouch for that any more, the stream ends with an error and the caller watches anew.
    ///
    /// # Errors
    /// [`StoreError`] when the store can't be read.
    async fn watch(&self) -> Result<Changes, StoreError>;
}

/// What a key holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "stores build it")]
pub struct Entry {
    /// The value.
    pub value: Bytes,
    /// Which writing of the key this is.
    pub revision: Revision,
}

/// Tells one writing of a key from all others of the bucket; the store alone knows what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// What must stand under a key for it to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "stores must heed each")]
pub enum Expected {
    /// Nothing, or what has expired.
    Absent,
    /// That very writing.
    Revision(Revision),
    /// Whatever it is.
    Any,
}

/// What became of a writing or removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "done or not")]
pub enum Written {
    /// It is done; for a writing, this is its revision.
    Done(Revision),
    /// Something else stands there than was expected: nothing was changed.
    Conflict,
}

/// A change of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "readers must heed each")]
pub enum Change {
    /// A key was written, or stood there when the watch began.
    Written(StoreKey, Entry),
    /// A key was removed or has expired.
    Removed(StoreKey),
    /// Whatever stood there when the watch began has been told.
    Caught,
}

/// The changes of a bucket, until the store fails or it is dropped.
pub type Changes =
    std::pin::Pin<Box<dyn futures_core::Stream<Item = Result<Change, StoreError>> + Send>>;
