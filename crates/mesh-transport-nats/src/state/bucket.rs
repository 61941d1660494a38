use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::store::{
    BucketName, Changes, Entry, Expected, KeyValue, Removed, Revision, StoreError, StoreErrorKind,
    StoreKey, Written,
};
use mesh_core::topology::BucketAddress;

use tokio::time::Instant;

use super::looking::{self, Found};
use super::writing::{Fate, What, Writing, store};
use super::{NatsState, failure, settings, watching};
use crate::link::deadline;

/// A bucket of a [`NatsState`], which several gateways of one realm share. Clones are the same bucket.
///
/// - The stream's leader decides between those who write at once, and answers who reads.
/// - The server expires entries, in whole seconds: lifetimes are rounded up.
/// - A writing has an id of 128 random bits. Where its confirmation is lost it is sent again, and is found
///   again by that id: it is never in conflict with itself, nor written twice. Where somebody else has
///   written since, the call fails as `Unavailable`, since nobody can say what became of it.
/// - Who watches hears what the server repeats of all that it stores, and counts: a gap, a lost connection
///   and a reader that is left behind end the watch with an error. Every 30 s the server is asked whether
///   something should have come.
#[derive(Clone)]
pub struct NatsBucket {
    pub(super) state: NatsState,
    pub(super) address: Arc<BucketAddress>,
    pub(super) stream: Arc<str>,
    max_value: usize,
    /// The highest number that the server has told.
    told: Arc<AtomicU64>,
}

impl NatsBucket {
    pub(super) async fn open(
        state: &NatsState,
        address: BucketAddress,
    ) -> Result<Self, StoreError> {
        let info = settings::inspect(state, &address, deadline(state.timeout)).await?;
        let of_stream = settings::largest(&address, &info)?;
        let of_server = state.owner.link().capabilities.limits().max_payload;
        let stream = address.stream().into();
        let max_value = of_stream.min(of_server.saturating_sub(settings::BESIDE));
        let told = Arc::new(AtomicU64::new(info.state.last_seq));
        Ok(Self { state: state.clone(), address: Arc::new(address), stream, max_value, told })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &BucketName {
        self.address.bucket()
    }

    pub(super) async fn last(
        &self,
        key: &StoreKey,
        due: Instant,
    ) -> Result<Option<Found>, StoreError> {
        let found = looking::last(&self.state, &self.address, key, due).await?;
        if let Some(found) = &found {
            self.tell(found.revision);
        }
        Ok(found)
    }

    /// The server has told this number.
    pub(super) fn tell(&self, revision: Revision) {
        self.told.fetch_max(revision.0, Ordering::Relaxed);
    }

    async fn store(
        &self,
        key: &StoreKey,
        value: What,
        expected: Expected,
    ) -> Result<Written, StoreError> {
        // What is stored from now on has a higher number.
        let before = Revision(self.told.load(Ordering::Relaxed));
        let mut writing = Writing::begin(self.state.timeout);
        let mut last = match expected {
            Expected::Any => None,
            Expected::Absent => Some(Revision(0)),
            // To the server that means absent, and no writing has it.
            Expected::Revision(Revision(0)) => return Ok(Written::Conflict),
            Expected::Revision(revision) => Some(revision),
        };
        loop {
            match store(self, key, &value, last, &mut writing).await? {
                Fate::Stored(revision) => return Ok(Written::Done(revision)),
                // The notice of an end stands there, or has just gone.
                Fate::Otherwise(found)
                    if expected == Expected::Absent
                        && found.as_ref().is_none_or(|found| found.value.is_none()) =>
                {
                    last = Some(found.map_or(Revision(0), |found| found.revision));
                }
                // It was there before, and is the last under its key: nothing of ours was stored.
                Fate::Otherwise(Some(found)) if found.revision <= before => {
                    return Ok(Written::Conflict);
                }
                Fate::Otherwise(_) if writing.doubtful => return Err(nobody_knows()),
                Fate::Otherwise(_) => return Ok(Written::Conflict),
            }
        }
    }
}

fn nobody_knows() -> StoreError {
    failure::unavailable("the confirmation was lost, and somebody else has written since")
}

#[async_trait]
impl KeyValue for NatsBucket {
    async fn read(&self, key: &StoreKey) -> Result<Option<Entry>, StoreError> {
        Ok(self.last(key, deadline(self.state.timeout)).await?.and_then(Found::into_entry))
    }

    async fn write(
        &self,
        key: &StoreKey,
        value: Bytes,
        lifetime: Duration,
        expected: Expected,
    ) -> Result<Written, StoreError> {
        if value.len() > self.max_value {
            let detail = format!("{} bytes, at most {} are allowed", value.len(), self.max_value);
            return Err(StoreError::new(StoreErrorKind::TooLarge, detail));
        }
        self.store(key, What::Value(value, lifetime), expected).await
    }

    async fn remove(
        &self,
        key: &StoreKey,
        revision: Option<Revision>,
    ) -> Result<Removed, StoreError> {
        let mut writing = Writing::begin(self.state.timeout);
        // A notice of nothing would take room.
        let Some(found) = self.last(key, writing.due).await? else { return Ok(Removed::Done) };
        if found.value.is_none() {
            return Ok(Removed::Done);
        }
        if revision.is_some_and(|revision| revision != found.revision) {
            return Ok(Removed::Conflict);
        }
        match store(self, key, &What::Removal, revision, &mut writing).await? {
            Fate::Stored(_) => Ok(Removed::Done),
            Fate::Otherwise(Some(Found { value: Some(_), .. })) if !writing.doubtful => {
                Ok(Removed::Conflict)
            }
            // Whoever has written since, the entry that was to be removed is not there.
            Fate::Otherwise(_) => Ok(Removed::Done),
        }
    }

    async fn watch(&self) -> Result<Changes, StoreError> {
        watching::watch(self.clone()).await
    }

    fn max_value(&self) -> usize {
        self.max_value
    }
}

impl fmt::Debug for NatsBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsBucket")
            .field("name", self.name())
            .field("max_value", &self.max_value)
            .field("state", &self.state)
            .finish()
    }
}
