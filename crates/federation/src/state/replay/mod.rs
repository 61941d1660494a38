//! Replay marks that several gateways of one realm share.

mod key;
mod loose;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::guard::{Inbound, Now, Refusal, Reservation, Stage, Verdict};
use mesh_core::mx::EdgeCode;
use mesh_core::name::RealmName;
use mesh_core::port::Clock;
use mesh_core::store::{
    Expected, KeyValue, Removed, Revision, StoreError, StoreErrorKind, StoreKey, Written,
};

use crate::Random;
use crate::edge::{Arrival, AsyncGuard};

use key::key;
use loose::Loose;

/// How a [`SharedReplay`] marks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made with `..SharedReplayOptions::default()`")]
pub struct SharedReplayOptions {
    /// How long a mark is held. 5 minutes unless told (protocol §8), as long as a
    /// [`Replay`](mesh_core::guard::Replay) holds its own.
    pub lifetime: Duration,
    /// How long the store may take for one message before it counts as away. 2 s unless told.
    pub patience: Duration,
    /// What becomes of a message while the store is away. Refused unless told.
    pub away: StoreAway,
}

/// What becomes of a message of which the store can't say whether it has come before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it passes or not")]
pub enum StoreAway {
    /// It is refused, and whoever waits for an answer is told `MX.EDGE.RATE_LIMITED`: later it may pass.
    /// No attacker gets a message in a second time by keeping the store away.
    Refuse,
    /// It passes, and is counted. What the gateway has seen itself is still refused, by its own
    /// [`Replay`](mesh_core::guard::Replay); what another one has seen, and what it saw before a restart,
    /// passes a second time.
    Pass,
}

impl Default for SharedReplayOptions {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(300),
            patience: Duration::from_secs(2),
            away: StoreAway::Refuse,
        }
    }
}

/// Drops what has come before, to whichever gateway of the realm that was, and before whichever restart
/// (protocol §8): the marks are in a store that they share, and outlive them.
///
/// It stands beside the gateway's own [`Replay`](mesh_core::guard::Replay), behind it, and leaves to that
/// one what needs no store: repetitions that it has seen itself, ids that are too long, and the bounds of
/// marks for each realm and for all. So a realm holds at most `per_realm` marks in the store for each
/// gateway, and all gateways together at most so many times [`marks`](mesh_core::guard::ReplayLimits::marks);
/// a bucket has room for that: some 250 bytes a mark on a nats-server, 150 in a file.
///
/// - The key of a mark is a hash of the local realm, the realm that the message says it comes from, and its
///   id: the first 160 bits of SHA-256. There is no secret in it, since all gateways would have to be given
///   the same one, and one that has another would catch nothing without a word. Nobody can make an id whose
///   mark is that of another realm's, or find two of its own with less than 2⁸⁰ tries.
/// - A mark is made as [absent](Expected::Absent), so of two gateways one makes it. Where a later guard
///   refuses the message, that very mark is removed, so that a sender may try again after a Nack.
/// - Where the store gives no word, or has no room, the message is refused, and its sender told to try again
///   ([`StoreAway`]): dropped without a word, it would be lost as if it were a repetition. A mark that was
///   left behind so is known again, by this gateway, and the second try passes; up to 4,096 of them.
/// - Whoever may write to the store can mark anything as seen, or remove marks: it is the gateways' own.
pub struct SharedReplay {
    store: Arc<dyn KeyValue>,
    realm: RealmName,
    clock: Arc<dyn Clock>,
    options: SharedReplayOptions,
    /// What this gateway writes as a mark's value.
    mine: Bytes,
    loose: Loose,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    replayed: AtomicU64,
    no_id: AtomicU64,
    away: AtomicU64,
    full: AtomicU64,
    unchecked: AtomicU64,
    retaken: AtomicU64,
    unreleased: AtomicU64,
}

impl SharedReplay {
    /// A guard of `realm`'s gateway that marks in `store`, which no other realm uses. `random` gives the
    /// name by which this gateway knows its own marks.
    #[must_use]
    pub fn new(
        store: Arc<dyn KeyValue>,
        realm: RealmName,
        clock: Arc<dyn Clock>,
        random: &dyn Random,
        options: SharedReplayOptions,
    ) -> Self {
        let mine = Bytes::copy_from_slice(&random.bits());
        let (loose, counts) = (Loose::default(), Counts::default());
        Self { store, realm, clock, options, mine, loose, counts }
    }

    async fn mark(&self, inbound: &Inbound<'_>) -> Verdict {
        let Some(key) = key(&self.realm, inbound) else {
            count(&self.counts.no_id);
            return Verdict::Refuse(Refusal::silent("no id"));
        };
        let marking = self.make(&key);
        match self.within(marking).await {
            Ok(Some(Revision(revision))) => Verdict::Reserved(Reservation::new(revision)),
            Ok(None) => {
                count(&self.counts.replayed);
                Verdict::Refuse(Refusal::silent("seen before"))
            }
            Err(error) => self.without_word(key, &error),
        }
    }

    /// Makes a mark, or finds one of this gateway's own that was left behind. Nothing, if it was seen.
    async fn make(&self, key: &StoreKey) -> Result<Option<Revision>, StoreError> {
        let lifetime = self.options.lifetime;
        let made = self.store.write(key, self.mine.clone(), lifetime, Expected::Absent).await?;
        if let Written::Done(revision) = made {
            self.loose.take(key);
            return Ok(Some(revision));
        }
        if !self.loose.has(key) {
            return Ok(None);
        }
        let Some(entry) = self.store.read(key).await? else { return Ok(None) };
        // Once, whoever else asks meanwhile.
        if entry.value != self.mine || !self.loose.take(key) {
            return Ok(None);
        }
        count(&self.counts.retaken);
        Ok(Some(entry.revision))
    }

    /// What becomes of a message of which the store can't say anything.
    fn without_word(&self, key: StoreKey, error: &StoreError) -> Verdict {
        let full = error.kind() == StoreErrorKind::Full;
        if full {
            count(&self.counts.full);
        } else {
            count(&self.counts.away);
            // It may have been made all the same.
            self.loose.leave(key, self.clock.monotonic().saturating_add(self.options.lifetime));
        }
        tracing::debug!(%error, "a replay mark could not be made");
        match self.options.away {
            StoreAway::Pass => {
                count(&self.counts.unchecked);
                Verdict::Pass
            }
            StoreAway::Refuse => {
                let why = if full { "too many ids are remembered" } else { "try again later" };
                Verdict::Refuse(Refusal::answered(EdgeCode::RateLimited.as_str(), why))
            }
        }
    }

    async fn within<T>(
        &self,
        call: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        tokio::select! {
            biased;
            done = call => done,
            () = self.clock.sleep(self.options.patience) => {
                Err(StoreError::new(StoreErrorKind::Unavailable, "it takes too long"))
            }
        }
    }
}

#[async_trait]
impl AsyncGuard for SharedReplay {
    fn name(&self) -> &'static str {
        "shared-replay"
    }

    fn stage(&self) -> Stage {
        Stage::Replay
    }

    async fn check(&self, arrival: &Arrival<'_>, _now: Now) -> Verdict {
        let inbound = arrival.inbound();
        if inbound.awaited {
            return Verdict::Pass;
        }
        self.mark(&inbound).await
    }

    async fn release(&self, arrival: &Arrival<'_>, reservation: Reservation) {
        let Some(key) = key(&self.realm, &arrival.inbound()) else { return };
        let revision = Revision(reservation.id());
        match self.within(self.store.remove(&key, Some(revision))).await {
            // Another's mark is another's.
            Ok(Removed::Done | Removed::Conflict) => {}
            Err(error) => {
                count(&self.counts.unreleased);
                tracing::debug!(%error, "a replay mark could not be released");
                self.loose.leave(key, self.clock.monotonic().saturating_add(self.options.lifetime));
            }
        }
    }

    fn reclaim(&self, now: Now) -> usize {
        self.loose.reclaim(now.monotonic)
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        let Counts { replayed, no_id, away, full, unchecked, retaken, unreleased } = &self.counts;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        vec![
            ("replayed", read(replayed)),
            ("no_id", read(no_id)),
            ("store_away", read(away)),
            ("store_full", read(full)),
            ("unchecked", read(unchecked)),
            ("retaken", read(retaken)),
            ("unreleased", read(unreleased)),
            ("loose", self.loose.len() as u64),
        ]
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl fmt::Debug for SharedReplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedReplay")
            .field("realm", &self.realm)
            .field("store", &self.store)
            .field("options", &self.options)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
