//! What changes, from what the server repeats of all that it stores. Its numbers tell whether anything is
//! missing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, SelectAll};
use futures_util::{StreamExt as _, TryStreamExt as _};
use mesh_core::port::{Operation, ReceiveError};
use mesh_core::store::{Change, Changes, Entry, Revision, StoreError, StoreKey};
use mesh_core::topology::BucketAddress;
use mesh_session::Queue;
use tokio::time::Instant;

use super::bucket::NatsBucket;
use super::failure::unavailable;
use super::looking::{self, Found, MARKER, OPERATION};
use super::{failure, settings};
use crate::link::deadline;
use crate::live::{self, Arrivals, Place};

/// How many read at once what stands there.
const READERS: u64 = 16;
/// How often a watch that hears nothing asks whether it should have.
const DOUBT: Duration = Duration::from_secs(30);
/// How long what is stored may take to be repeated.
const LATE: Duration = Duration::from_secs(10);
/// How many keys whose removal was told are known at a time.
const REMOVED: usize = 65_536;

pub(super) async fn watch(bucket: NatsBucket) -> Result<Changes, StoreError> {
    let place = Place {
        operation: Operation::Subscribe,
        filter: bucket.address.changes().as_str().to_owned(),
        group: None,
    };
    let queue = Arc::new(Queue::new(bucket.state.backlog));
    let address = Arc::clone(&bucket.address);
    let admit = Box::new(move |message: async_nats::Message| {
        // What is no repetition leaves a gap, if it ought to be one.
        Heard::read(message, &address).map(Ok)
    });
    let due = deadline(bucket.state.timeout);
    let arrivals = live::listen(&bucket.state.owner, place, queue, due, admit).await;
    let arrivals = arrivals.map_err(failure::of)?;
    // All that is stored after this answer is heard.
    let info = settings::inspect(&bucket.state, &bucket.address, due).await?;
    let upto = info.state.last_seq;
    let present = standing(&bucket, info.state.first_seq, upto);
    let watching = Watching {
        bucket,
        arrivals,
        heard: upto,
        removed: HashSet::new(),
        phase: Phase::Standing(present),
        doubt: None,
    };
    Ok(Box::pin(stream::unfold(Some(watching), |watching| async {
        let mut watching = watching?;
        match watching.next().await {
            Ok(change) => Some((Ok(change), Some(watching))),
            Err(error) => Some((Err(error), None)),
        }
    })))
}

/// What the server repeats.
#[derive(Debug)]
struct Heard {
    number: u64,
    /// Nothing, where somebody has stored something under what is no key of ours.
    key: Option<StoreKey>,
    what: What,
}

#[derive(Debug)]
enum What {
    Value(bytes::Bytes),
    Removal,
    Expiry,
}

impl Heard {
    fn read(message: async_nats::Message, bucket: &BucketAddress) -> Option<Self> {
        let key = bucket.key_of_change(message.subject.as_str());
        let headers = message.headers.as_ref()?;
        let number = headers.get_last("Nats-Sequence")?.as_str().parse().ok()?;
        let what = if headers.get(MARKER).is_some() {
            What::Expiry
        } else if headers.get(OPERATION).is_some() {
            What::Removal
        } else {
            What::Value(message.payload)
        };
        Some(Self { number, key, what })
    }
}

type Standing = SelectAll<BoxStream<'static, Result<Found, StoreError>>>;

/// What stands there with those numbers. What is written meanwhile has other ones, and is heard.
fn standing(bucket: &NatsBucket, first: u64, upto: u64) -> Standing {
    let share = (upto.saturating_sub(first) / READERS).max(64) + 1;
    let mut readers = SelectAll::new();
    let mut from = first;
    while from <= upto {
        let to = from.saturating_add(share - 1).min(upto);
        let bucket = bucket.clone();
        let reader = stream::try_unfold(from, move |from| {
            let bucket = bucket.clone();
            async move {
                if from > to {
                    return Ok(None);
                }
                let due = deadline(bucket.state.timeout);
                let found = looking::next(&bucket.state, &bucket.address, from, due).await?;
                let found = found.filter(|found| found.revision.0 <= to);
                // An answer that does not go on would be asked for again and again.
                if found.as_ref().is_some_and(|found| found.revision.0 < from) {
                    return Err(looking::damaged("the server reads backwards"));
                }
                Ok(found.map(|found| {
                    let next = found.revision.0 + 1;
                    (found, next)
                }))
            }
        });
        readers.push(reader.boxed());
        from = to + 1;
    }
    readers
}

/// The number that was stored last.
async fn last(bucket: &NatsBucket) -> Result<u64, StoreError> {
    let due = deadline(bucket.state.timeout);
    Ok(settings::inspect(&bucket.state, &bucket.address, due).await?.state.last_seq)
}

enum Phase {
    /// What stood there is read.
    Standing(Standing),
    /// What was overwritten while it was read is heard, up to this number.
    Catching(u64),
    /// All of that was told.
    Caught,
}

struct Watching {
    bucket: NatsBucket,
    arrivals: Arrivals<Heard>,
    /// The last number that was heard, or had been stored before.
    heard: u64,
    /// Keys whose removal was told, and the end of whose notice is not to be told again.
    removed: HashSet<StoreKey>,
    phase: Phase,
    /// What should have been heard by when.
    doubt: Option<(u64, Instant)>,
}

impl Watching {
    async fn next(&mut self) -> Result<Change, StoreError> {
        loop {
            match &mut self.phase {
                Phase::Standing(present) => match present.try_next().await? {
                    Some(found) => {
                        if let (Some(key), Some(entry)) = (found.key.clone(), found.into_entry()) {
                            return Ok(Change::Written(key, entry));
                        }
                    }
                    None => {
                        self.phase = Phase::Catching(last(&self.bucket).await?);
                    }
                },
                Phase::Catching(upto) if *upto <= self.heard => {
                    self.phase = Phase::Caught;
                    return Ok(Change::Caught);
                }
                Phase::Catching(_) | Phase::Caught => {
                    if let Some(change) = self.hear().await? {
                        return Ok(change);
                    }
                }
            }
        }
    }

    /// The next change that is heard; nothing, if that was none or nothing came for a while.
    async fn hear(&mut self) -> Result<Option<Change>, StoreError> {
        let due = self.doubt.map_or_else(|| deadline(DOUBT), |(_, due)| due);
        let Ok(heard) = tokio::time::timeout_at(due, self.arrivals.next()).await else {
            return self.doubt().await.map(|()| None);
        };
        let Heard { number, key, what } = match heard {
            Some(Ok(heard)) => heard,
            Some(Err(ReceiveError::Lagged { .. })) => {
                return Err(unavailable("the watcher was left behind; it watches anew"));
            }
            Some(Err(ReceiveError::Interrupted)) => {
                return Err(unavailable("the connection was interrupted; it watches anew"));
            }
            Some(Err(ReceiveError::Ended(error))) => return Err(failure::of(error)),
            Some(Err(_)) => return Err(unavailable("the watch was disturbed; it watches anew")),
            None => return Err(unavailable("the connection is closed")),
        };
        if number <= self.heard {
            return Ok(None);
        }
        if number != self.heard + 1 {
            return Err(unavailable("a change was not heard; it watches anew"));
        }
        self.heard = number;
        let Some(key) = key else { return Ok(None) };
        Ok(match what {
            What::Value(value) => {
                self.removed.remove(&key);
                Some(Change::Written(key, Entry { value, revision: Revision(number) }))
            }
            What::Removal => {
                if self.removed.len() < REMOVED {
                    self.removed.insert(key.clone());
                }
                Some(Change::Removed(key))
            }
            What::Expiry => (!self.removed.remove(&key)).then_some(Change::Removed(key)),
        })
    }

    /// Asks whether something should have come.
    async fn doubt(&mut self) -> Result<(), StoreError> {
        match self.doubt.take() {
            Some((number, _)) if number > self.heard => {
                return Err(unavailable("a change was not heard; it watches anew"));
            }
            Some(_) => {}
            None => {
                let last = last(&self.bucket).await?;
                if last > self.heard {
                    self.doubt = Some((last, deadline(LATE)));
                }
            }
        }
        Ok(())
    }
}
