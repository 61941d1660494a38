use std::collections::VecDeque;
use std::hash::Hash;

use hashbrown::HashMap;

use super::super::keyed::{MarkKey, Prehashed};
use super::pool::Pool;

/// The marks of some realms: every mark of a realm is in the same shard, so its count is right
/// under one lock.
///
/// Marks live equally long, so they expire in the order in which they were made, and that order is
/// a plain queue. A released mark leaves its entry in the queue behind; there are never more than
/// `2 × marks + 32` entries.
#[derive(Debug, Default)]
pub(super) struct Marks {
    live: HashMap<MarkKey, Mark, Prehashed>,
    order: VecDeque<(MarkKey, u64)>,
    realms: HashMap<u64, Realm, Prehashed>,
    /// The number of the next mark: tells a mark from an earlier one of the same key.
    next: u64,
    /// The latest time seen. Callers on several threads may come in out of order.
    latest: u64,
}

#[derive(Debug, Clone, Copy)]
struct Mark {
    number: u64,
    expires: u64,
    realm: u64,
}

#[derive(Debug, Clone, Copy)]
struct Realm {
    live: usize,
    /// Has its own share: takes nothing from the pool, and is kept when it has no marks.
    listed: bool,
}

/// What a mark is to be made for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) key: MarkKey,
    pub(super) realm: u64,
    pub(super) now: u64,
    pub(super) lifetime: u64,
    pub(super) per_realm: usize,
}

/// Why no mark was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoMark {
    Replayed,
    RealmFull,
    PoolFull,
}

/// Entries looked at on each insertion: more than one, so that a backlog shrinks under traffic.
const RECLAIMED_PER_INSERT: usize = 4;

impl Marks {
    /// Keeps a share for a realm.
    pub(super) fn list(&mut self, realm: u64) {
        let listed = Realm { live: 0, listed: true };
        self.realms.insert(realm, listed);
    }

    /// Makes a mark and tells its number. Nothing that is still alive makes way for it.
    pub(super) fn reserve(&mut self, claim: Claim, pool: &Pool) -> Result<u64, NoMark> {
        self.latest = self.latest.max(claim.now);
        self.reclaim_some(RECLAIMED_PER_INSERT, pool);
        if let Some(mark) = self.live.get(&claim.key) {
            if mark.expires > self.latest {
                return Err(NoMark::Replayed);
            }
            self.reclaim_some(usize::MAX, pool);
        }
        if self.live_of(claim.realm) >= claim.per_realm {
            self.reclaim_some(usize::MAX, pool);
            if self.live_of(claim.realm) >= claim.per_realm {
                return Err(NoMark::RealmFull);
            }
        }
        let listed = self.realms.get(&claim.realm).is_some_and(|r| r.listed);
        if !listed && !pool.take() {
            return Err(NoMark::PoolFull);
        }
        let number = self.next;
        self.next += 1;
        self.realms.entry(claim.realm).or_insert(Realm { live: 0, listed }).live += 1;
        self.live.insert(
            claim.key,
            Mark {
                number,
                expires: self.latest.saturating_add(claim.lifetime),
                realm: claim.realm,
            },
        );
        self.order.push_back((claim.key, number));
        Ok(number)
    }

    /// Forgets the mark of this key, if it is still the one of this number.
    pub(super) fn release(&mut self, key: MarkKey, number: u64, pool: &Pool) {
        if self.is_live(key, number) {
            self.remove(key, pool);
            while let Some(&(key, number)) = self.order.back()
                && !self.is_live(key, number)
            {
                self.order.pop_back();
            }
            self.tidy();
        }
    }

    /// Forgets all that have expired, and tells how many.
    pub(super) fn reclaim(&mut self, now: u64, pool: &Pool) -> usize {
        self.latest = self.latest.max(now);
        self.reclaim_some(usize::MAX, pool)
    }

    /// Marks held, and realms that hold any.
    pub(super) fn len(&self) -> (usize, usize) {
        let holding = self.realms.values().filter(|realm| realm.live > 0).count();
        (self.live.len(), holding)
    }

    /// Bytes held by the tables, used or not.
    pub(super) fn bytes(&self) -> usize {
        self.live.allocation_size()
            + self.realms.allocation_size()
            + self.order.capacity() * size_of::<(MarkKey, u64)>()
    }

    fn reclaim_some(&mut self, at_most: usize, pool: &Pool) -> usize {
        let mut reclaimed = 0;
        for _ in 0..at_most {
            let Some(&(key, number)) = self.order.front() else {
                break;
            };
            match self.live.get(&key) {
                Some(mark) if mark.number == number => {
                    if mark.expires > self.latest {
                        break;
                    }
                    self.remove(key, pool);
                    reclaimed += 1;
                }
                _ => {}
            }
            self.order.pop_front();
        }
        if reclaimed > 0 {
            self.tidy();
        }
        reclaimed
    }

    fn is_live(&self, key: MarkKey, number: u64) -> bool {
        self.live.get(&key).is_some_and(|mark| mark.number == number)
    }

    fn live_of(&self, realm: u64) -> usize {
        self.realms.get(&realm).map_or(0, |realm| realm.live)
    }

    fn remove(&mut self, key: MarkKey, pool: &Pool) {
        let Some(mark) = self.live.remove(&key) else {
            return;
        };
        let Some(realm) = self.realms.get_mut(&mark.realm) else {
            return;
        };
        realm.live -= 1;
        if !realm.listed {
            pool.give_back();
            if realm.live == 0 {
                self.realms.remove(&mark.realm);
            }
        }
    }

    /// Holds the tables to a multiple of what is in them. What it does costs a table's size, and
    /// comes after at least about half as many removals.
    fn tidy(&mut self) {
        let marks = self.live.len();
        if self.order.len() > 2 * marks + 32 {
            let live = &self.live;
            self.order
                .retain(|(key, number)| live.get(key).is_some_and(|mark| mark.number == *number));
        }
        if self.order.capacity() > 4 * marks + 64 {
            self.order.shrink_to(2 * marks + 32);
        }
        shrink(&mut self.live);
        shrink(&mut self.realms);
    }
}

/// A table grows to less than 2.3 buckets an entry, and is cut back to less than 4.6 once it has
/// more than 5.
fn shrink<K: Eq + Hash, V>(table: &mut HashMap<K, V, Prehashed>) {
    let bucket = size_of::<(K, V)>() + 1;
    if table.allocation_size() > 5 * bucket * table.len() + 4_096 {
        table.shrink_to(2 * table.len());
    }
}
