use std::collections::HashMap;
use std::sync::Arc;

use governor::clock::Clock;
use governor::nanos::Nanos;
use governor::state::StateStore;
use parking_lot::Mutex;

use super::super::keyed::Prehashed;
use super::clock::PassedIn;

/// The buckets of the realms that are not listed: a fixed number of places, made at the start.
///
/// A bucket that has refilled is the same as none, so its place can be given away and nobody gains
/// by it. No other is ever given away: where all places are taken, a new realm is refused.
///
/// A handle: cloning shares the places.
#[derive(Debug, Clone)]
pub(super) struct Buckets {
    shards: Arc<[Mutex<Shard>]>,
    per_shard: usize,
    clock: PassedIn,
}

/// For each realm the time at which its bucket will have refilled, in nanoseconds.
#[derive(Debug)]
struct Shard {
    refilled_at: HashMap<u64, u64, Prehashed>,
    swept_at: Option<u64>,
}

/// A sweep looks at every place, about a nanosecond each. A full shard is swept again once this
/// many nanoseconds a place have passed, so sweeping takes a thousandth of the time at most.
const SWEEP_PAUSE_PER_PLACE: u64 = 1_000;

impl Buckets {
    pub(super) fn new(max_realms: usize, clock: PassedIn) -> Self {
        // One shard for each 256 places, so that a small table is not full before its time.
        let shards = (max_realms / 256).clamp(1, 16);
        let per_shard = max_realms / shards;
        Self {
            shards: (0..shards)
                .map(|_| {
                    Mutex::new(Shard {
                        refilled_at: HashMap::with_capacity_and_hasher(
                            per_shard,
                            Prehashed::default(),
                        ),
                        swept_at: None,
                    })
                })
                .collect(),
            per_shard,
            clock,
        }
    }

    fn shard(&self, realm: u64) -> &Mutex<Shard> {
        &self.shards[(realm >> 32) as usize % self.shards.len()]
    }

    /// Gives away the places of buckets that have refilled, and tells how many.
    pub(super) fn sweep(&self) -> usize {
        let now = self.clock.now().as_u64();
        self.shards.iter().map(|shard| shard.lock().sweep(now)).sum()
    }

    /// Places taken.
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().refilled_at.len()).sum()
    }
}

impl Shard {
    fn sweep(&mut self, now: u64) -> usize {
        self.swept_at = Some(now);
        let before = self.refilled_at.len();
        self.refilled_at.retain(|_, refilled_at| *refilled_at > now);
        before - self.refilled_at.len()
    }

    fn has_room(&mut self, places: usize, now: u64) -> bool {
        if self.refilled_at.len() < places {
            return true;
        }
        let pause = SWEEP_PAUSE_PER_PLACE.saturating_mul(places as u64);
        let due = self.swept_at.is_none_or(|swept_at| now.saturating_sub(swept_at) >= pause);
        due && self.sweep(now) > 0
    }
}

impl StateStore for Buckets {
    type Key = u64;

    fn measure_and_replace<T, F, E>(&self, realm: &u64, judge: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let now = self.clock.now().as_u64();
        let mut shard = self.shard(*realm).lock();
        let known = shard.refilled_at.get(realm).copied();
        if known.is_none() && !shard.has_room(self.per_shard, now) {
            // No place: judged like a bucket that refills at the end of time.
            return judge(Some(u64::MAX.into())).map(|(pass, _)| pass);
        }
        let (pass, refilled_at) = judge(known.map(Into::into))?;
        shard.refilled_at.insert(*realm, refilled_at.into());
        Ok(pass)
    }
}
