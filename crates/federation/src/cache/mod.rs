//! What other realms were asked for, kept for a while: bounded, each realm asked once at a time, failures
//! remembered too.
//!
//! Realms' names are claims of strangers. So failures stand in a table of their own and push out no success;
//! no more are asked at once than a limit says, and whoever comes then is told so at once.

mod budget;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lru::LruCache;
use mesh_core::name::RealmName;
use mesh_core::port::Clock;
use parking_lot::Mutex;

use crate::Freshness;

pub(crate) use budget::Budget;

/// How much a [`Cache`] keeps and does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Realms whose answer is kept, and as many again whose failure is.
    pub(crate) realms: NonZeroUsize,
    /// Realms that are asked at once.
    pub(crate) flights: usize,
    /// Callers that wait at once, in all and for one realm.
    pub(crate) waiting: (usize, usize),
    /// How long an answer is kept at least and at most, whatever it says.
    pub(crate) kept: (Duration, Duration),
    /// How long a failure is.
    pub(crate) failed: Duration,
    /// How long nobody asks a realm again that has answered, however much it is wanted.
    pub(crate) again: Duration,
}

/// No room to ask now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Busy;

pub(crate) struct Cache<V, E> {
    clock: Arc<dyn Clock>,
    limits: Limits,
    table: Mutex<Table<V, E>>,
    counts: [AtomicU64; COUNTS],
}

struct Table<V, E> {
    good: LruCache<RealmName, Good<V>>,
    bad: LruCache<RealmName, (E, Duration)>,
    flights: HashMap<RealmName, Arc<tokio::sync::Mutex<()>>>,
    waiting: usize,
}

struct Good<V> {
    value: Arc<V>,
    asked: Duration,
    until: Duration,
}

const COUNTS: usize = 5;
const NAMES: [&str; COUNTS] = ["hits", "fetched", "failed", "failures_remembered", "busy"];
const HIT: usize = 0;
const FETCHED: usize = 1;
const FAILED: usize = 2;
const REMEMBERED: usize = 3;
const BUSY: usize = 4;

impl<V: Send + Sync, E: Clone + PartialEq + From<Busy> + Send> Cache<V, E> {
    pub(crate) fn new(clock: Arc<dyn Clock>, limits: Limits) -> Self {
        let table = Table {
            good: LruCache::new(limits.realms),
            bad: LruCache::new(limits.realms),
            flights: HashMap::new(),
            waiting: 0,
        };
        Self { clock, limits, table: Mutex::new(table), counts: Default::default() }
    }

    /// The answer for `realm`: the kept one, or what `fetch` brings together with how long it holds, if
    /// `allow` lets it. Dropped midway, the next caller fetches.
    pub(crate) async fn get<F>(
        &self,
        realm: &RealmName,
        freshness: Freshness,
        allow: impl FnOnce() -> bool + Send,
        fetch: impl FnOnce() -> F + Send,
    ) -> Result<Arc<V>, E>
    where
        F: Future<Output = Result<(V, Duration), E>> + Send,
    {
        if let Some(known) = self.known(realm, freshness) {
            return known;
        }
        let flight = self.board(realm)?;
        let _turn = flight.turn.lock().await;
        if let Some(known) = self.known(realm, freshness) {
            return known;
        }
        if !allow() {
            self.count(BUSY);
            return self.kept(realm).ok_or_else(|| Busy.into());
        }
        self.asking(realm);
        let fetched = fetch().await;
        self.landed(realm, fetched)
    }

    /// The numbers, by name.
    pub(crate) fn figures(&self) -> Vec<(&'static str, u64)> {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let table = self.table.lock();
        NAMES
            .into_iter()
            .zip(counts)
            .chain([("realms", table.good.len() as u64), ("flights", table.flights.len() as u64)])
            .collect()
    }

    fn known(&self, realm: &RealmName, freshness: Freshness) -> Option<Result<Arc<V>, E>> {
        let now = self.clock.monotonic();
        let mut table = self.table.lock();
        if let Some(good) = table.good.get(realm).filter(|good| now < good.until) {
            let lately = now < good.asked.saturating_add(self.limits.again);
            if freshness == Freshness::Kept || lately {
                self.count(HIT);
                return Some(Ok(Arc::clone(&good.value)));
            }
            return None;
        }
        let failed = table.bad.get(realm).filter(|(_, until)| now < *until)?;
        self.count(REMEMBERED);
        Some(Err(failed.0.clone()))
    }

    /// What still holds, however old.
    fn kept(&self, realm: &RealmName) -> Option<Arc<V>> {
        let now = self.clock.monotonic();
        let table = self.table.lock();
        table.good.peek(realm).filter(|good| now < good.until).map(|good| Arc::clone(&good.value))
    }

    fn board(&self, realm: &RealmName) -> Result<Flight<'_, V, E>, E> {
        let mut table = self.table.lock();
        let (waiting, for_one) = self.limits.waiting;
        let full = match table.flights.get(realm) {
            // All but the table's own.
            Some(turn) => Arc::strong_count(turn) > for_one,
            None => table.flights.len() >= self.limits.flights,
        };
        if full || table.waiting >= waiting {
            self.count(BUSY);
            return Err(Busy.into());
        }
        table.waiting += 1;
        let turn = Arc::clone(table.flights.entry(realm.clone()).or_default());
        Ok(Flight { cache: self, realm: realm.clone(), turn })
    }

    /// So that a realm which does not answer is not asked at once again.
    fn asking(&self, realm: &RealmName) {
        self.count(FETCHED);
        let now = self.clock.monotonic();
        if let Some(good) = self.table.lock().good.peek_mut(realm) {
            good.asked = now;
        }
    }

    fn landed(&self, realm: &RealmName, fetched: Result<(V, Duration), E>) -> Result<Arc<V>, E> {
        let now = self.clock.monotonic();
        let mut table = self.table.lock();
        match fetched {
            Ok((value, holds)) => {
                let (shortest, longest) = self.limits.kept;
                let value = Arc::new(value);
                let until = now.saturating_add(holds.clamp(shortest, longest));
                let good = Good { value: Arc::clone(&value), asked: now, until };
                table.bad.pop(realm);
                table.good.put(realm.clone(), good);
                Ok(value)
            }
            Err(error) => {
                self.count(FAILED);
                // What still holds is not lost because its renewal failed.
                if let Some(good) = table.good.peek(realm).filter(|good| now < good.until) {
                    return Ok(Arc::clone(&good.value));
                }
                table.good.pop(realm);
                // That there was no room says nothing of the realm.
                if error == Busy.into() {
                    return Err(error);
                }
                let until = now.saturating_add(self.limits.failed);
                table.bad.put(realm.clone(), (error.clone(), until));
                Err(error)
            }
        }
    }

    fn count(&self, which: usize) {
        if let Some(count) = self.counts.get(which) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A caller's place among those who wait for a realm; dropped, nothing is left of it.
struct Flight<'c, V, E> {
    cache: &'c Cache<V, E>,
    realm: RealmName,
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl<V, E> Drop for Flight<'_, V, E> {
    fn drop(&mut self) {
        let mut table = self.cache.table.lock();
        table.waiting -= 1;
        // The table's own and this one: nobody else waits.
        if Arc::strong_count(&self.turn) == 2 {
            table.flights.remove(&self.realm);
        }
    }
}

impl<V, E> fmt::Debug for Cache<V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").field("limits", &self.limits).finish_non_exhaustive()
    }
}
