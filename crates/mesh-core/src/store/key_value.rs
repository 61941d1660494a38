use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_core::Stream;

use super::{StoreError, StoreKey};

/// Entries that several processes may share and that end by themselves: leases, sessions, replay marks
/// (protocol §8, durable state). One value of this type is one bucket, and so are its clones, and what
/// others opened under the bucket's name; keys of different buckets never meet.
///
/// Whoever holds a bucket may read and write all of it: a value is what somebody wrote, perhaps another
/// version or an attacker with that right. Readers check it.
///
/// Each bullet is a case of the test kit's suite of stores.
#[async_trait]
pub trait KeyValue: Send + Sync + fmt::Debug {
    /// The entry of `key`, if there is one that has not expired.
    ///
    /// - `read_gives_what_was_written`: byte for byte, also empty, with the revision that `write` told.
    /// - `read_of_nothing_is_none`: what was never written, and what was removed.
    /// - `read_of_what_has_expired_is_none`.
    /// - `read_sees_what_another_wrote`: as soon as that writing has returned.
    /// - `read_stays_in_its_bucket`: the same key of another bucket is another entry.
    ///
    /// # Errors
    /// [`StoreError`] when the store can't say.
    async fn read(&self, key: &StoreKey) -> Result<Option<Entry>, StoreError>;

    /// Writes `value` if what stands there is as `expected`, and lets it expire `lifetime` from now.
    ///
    /// A store may count in whole seconds: a lifetime is then rounded up, to one second at least. Whoever
    /// has to be exact writes the end into the value as well. Where the answer of a store is lost, the
    /// store's adapter finds out what became of the writing: it is never in conflict with itself.
    ///
    /// - `write_of_what_is_absent_is_done_once`: the second is told `Conflict`, and changes nothing.
    /// - `write_over_a_revision_needs_that_very_one`: an older one, one that was removed and one that
    ///   never was are told `Conflict`.
    /// - `write_over_anything_replaces_it`.
    /// - `write_revisions_grow`: each is greater than all before it in the bucket, also where an entry
    ///   was removed or has expired between them.
    /// - `write_has_one_winner_of_many`: of those who write at once with the same expectation, from
    ///   handles of their own, one is `Done` and the others are told `Conflict`.
    /// - `write_after_the_end_finds_nothing`: an expired entry is absent.
    /// - `write_begins_the_lifetime_anew`: with the new lifetime, shorter or longer.
    /// - `write_of_the_largest_value_is_done`: [`max_value`](Self::max_value) bytes.
    /// - `write_of_one_byte_more_is_too_large`: [`TooLarge`](super::StoreErrorKind::TooLarge); the entry
    ///   stays as it was.
    /// - `write_into_a_full_bucket_is_full`: [`Full`](super::StoreErrorKind::Full) for a new key. What
    ///   stands there can be replaced and removed, nothing is pushed out, and a removal makes room.
    ///   [where the harness can bound it]
    /// - `write_to_a_store_that_is_away_is_unavailable`, and so are the other calls;
    ///   `may_retry` says so. [where the harness can take it away]
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

    /// Removes the entry: that of `revision`, or with `None` whatever it is.
    ///
    /// - `remove_takes_the_entry`: it is read no more, and can be written as absent.
    /// - `remove_of_another_revision_conflicts`: the entry stays.
    /// - `remove_of_nothing_is_done`: of what is not there, is gone already or has expired, whatever the
    ///   revision.
    ///
    /// # Errors
    /// [`StoreError`] when it can't be said to be removed. It may have been.
    async fn remove(
        &self,
        key: &StoreKey,
        revision: Option<Revision>,
    ) -> Result<Removed, StoreError>;

    /// All that has not expired, in no order, and what changes from then on. Dropped, it is over.
    ///
    /// - `watch_tells_what_stands_there_and_then_caught`: [`Change::Caught`] once; in an empty bucket it
    ///   comes at once. What stood there may be told in its newer state, and twice if it is written
    ///   meanwhile.
    /// - `watch_tells_each_change_of_a_key_in_order`: writings with value and revision, and removals.
    /// - `watch_tells_an_expiry`: as a removal, soon after it. Where it is written again meanwhile, the
    ///   writing alone may be told.
    /// - `watch_begun_amid_writings_misses_none`: who has heard `Caught` and all since knows the bucket.
    /// - `watch_that_is_left_behind_ends_with_an_error`: who does not read is not waited for, and is told
    ///   so, in place of a gap. The caller watches anew. [where the harness says how many that takes]
    /// - `watch_ends_with_an_error_when_the_store_goes`: also while nothing changes. [where the harness can
    ///   take it away]
    ///
    /// # Errors
    /// [`StoreError`] when the store can't be read.
    async fn watch(&self) -> Result<Changes, StoreError>;

    /// How many bytes a value may have, at most.
    fn max_value(&self) -> usize;
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

/// Tells one writing of a key from all others of the bucket, and which of two came later. The store alone
/// knows what the number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "stores build it")]
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

/// What became of a writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "done or not")]
pub enum Written {
    /// It is done, and this is its revision.
    Done(Revision),
    /// Something else stands there than was expected: nothing was changed.
    Conflict,
}

/// What became of a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "done or not")]
pub enum Removed {
    /// What was to be removed is not there.
    Done,
    /// A writing of another revision stands there: nothing was changed.
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

/// The changes of a bucket, until an error, which is the last.
pub type Changes = Pin<Box<dyn Stream<Item = Result<Change, StoreError>> + Send>>;

/// A shared store is a store.
#[async_trait]
impl<S: KeyValue + ?Sized> KeyValue for std::sync::Arc<S> {
    async fn read(&self, key: &StoreKey) -> Result<Option<Entry>, StoreError> {
        (**self).read(key).await
    }

    async fn write(
        &self,
        key: &StoreKey,
        value: Bytes,
        lifetime: Duration,
        expected: Expected,
    ) -> Result<Written, StoreError> {
        (**self).write(key, value, lifetime, expected).await
    }

    async fn remove(
        &self,
        key: &StoreKey,
        revision: Option<Revision>,
    ) -> Result<Removed, StoreError> {
        (**self).remove(key, revision).await
    }

    async fn watch(&self) -> Result<Changes, StoreError> {
        (**self).watch().await
    }

    fn max_value(&self) -> usize {
        (**self).max_value()
    }
}
