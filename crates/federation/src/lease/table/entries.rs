use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;
use mesh_core::mx::{MxPath, Profile};
use mesh_core::name::RealmName;

use super::super::{Lease, LeaseId, LeaseRefusal};
use crate::tables::{Due, Names, Slots};

/// The leases of a table, and the ways to find them.
pub(super) struct Entries {
    pub(super) slots: Slots<Entry>,
    index: HashTable<u32>,
    hash: RandomState,
    /// Each source with the leases that are kept here.
    pub(super) sources: Names<Vec<u32>>,
    /// Each realm; how many use it is how many leases it has.
    pub(super) realms: Names<()>,
    pub(super) keepers: Names<()>,
    pub(super) me: u32,
    pub(super) due: Due,
    stamp: u32,
    path_bytes: usize,
}

#[derive(Debug)]
pub(super) struct Entry {
    // Two halves: as one number it would be aligned to 16 bytes.
    pub(super) id: [u64; 2],
    pub(super) path: Arc<str>,
    pub(super) ends: u64,
    pub(super) revision: u64,
    pub(super) source: u32,
    pub(super) realm: u32,
    pub(super) keeper: u32,
    /// Where it stands among the leases of its source that are kept here.
    place: u32,
    pub(super) stamp: u32,
    pub(super) profile: Profile,
}

/// No place among the leases that are kept here.
const ELSEWHERE: u32 = u32::MAX;

impl Entries {
    pub(super) fn new(me: &str) -> Self {
        let mut keepers = Names::new();
        let me = keepers.hold(me).unwrap_or_default();
        Self {
            slots: Slots::new(),
            index: HashTable::new(),
            hash: RandomState::new(),
            sources: Names::new(),
            realms: Names::new(),
            keepers,
            me,
            due: Due::default(),
            stamp: 0,
            path_bytes: 0,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let lists: usize = self.sources.iter().map(|(.., kept)| kept.capacity() * 4).sum();
        let names = self.sources.bytes() + self.realms.bytes() + self.keepers.bytes();
        let own = self.slots.bytes() + self.index.allocation_size() + self.due.bytes();
        own + names + lists + self.path_bytes
    }

    pub(super) fn insert(&mut self, id: LeaseId, lease: &Lease) -> Result<(), LeaseRefusal> {
        let path: Arc<str> = Arc::from(lease.sink_path.as_str());
        let full = LeaseRefusal::Full;
        // There are never more names than slots: with a slot left, none of the holds below fails.
        self.slots.next().ok_or(full)?;
        let source = self.sources.hold(lease.source.as_str()).ok_or(full)?;
        let realm = self.realms.hold(lease.sink_realm.as_str()).ok_or(full)?;
        let keeper = self.keepers.hold(&lease.keeper).ok_or(full)?;
        self.stamp = self.stamp.wrapping_add(1);
        self.path_bytes += path.len() + PATH;
        let entry = Entry {
            id: halves(id),
            path,
            ends: lease.ends,
            revision: lease.revision,
            source,
            realm,
            keeper,
            place: ELSEWHERE,
            stamp: self.stamp,
            profile: lease.profile,
        };
        let slot = self.slots.insert(entry).ok_or(full)?;
        let Self { index, slots, hash, .. } = self;
        let rehash = |slot: &u32| hash.hash_one(slots.get(*slot).map(|entry| entry.id));
        index.insert_unique(hash.hash_one(Some(halves(id))), slot, rehash);
        self.due.push(lease.ends, slot, self.stamp);
        self.list(slot);
        Ok(())
    }

    pub(super) fn take(&mut self, slot: u32) {
        self.unlist(slot);
        let Some(entry) = self.slots.remove(slot) else {
            return;
        };
        self.path_bytes -= entry.path.len() + PATH;
        self.sources.release(entry.source);
        self.realms.release(entry.realm);
        self.keepers.release(entry.keeper);
        let hash = self.hash.hash_one(Some(entry.id));
        if let Ok(found) = self.index.find_entry(hash, |other| *other == slot) {
            found.remove();
        }
        if self.slots.len() == 0 {
            self.index = HashTable::new();
        }
        let Self { due, slots, .. } = self;
        due.tidy(slots.len(), |slot, stamp| {
            slots.get(slot).is_some_and(|entry| entry.stamp == stamp)
        });
    }

    /// An end that is earlier than the one it is waited for.
    pub(super) fn hurry(&mut self, slot: u32, ends: u64) {
        self.stamp = self.stamp.wrapping_add(1);
        if let Some(entry) = self.slots.get_mut(slot) {
            entry.stamp = self.stamp;
            self.due.push(ends, slot, self.stamp);
        }
    }

    /// Puts it among the leases of its source that are kept here, or takes it out.
    pub(super) fn list(&mut self, slot: u32) {
        let Some(entry) = self.slots.get_mut(slot) else {
            return;
        };
        if entry.keeper != self.me {
            return self.unlist(slot);
        }
        if entry.place != ELSEWHERE {
            return;
        }
        if let Some(kept) = self.sources.value_mut(entry.source) {
            entry.place = u32::try_from(kept.len()).unwrap_or(ELSEWHERE);
            kept.push(slot);
        }
    }

    fn unlist(&mut self, slot: u32) {
        let Some(entry) = self.slots.get_mut(slot) else {
            return;
        };
        let place = std::mem::replace(&mut entry.place, ELSEWHERE);
        let kept = self.sources.value_mut(entry.source);
        let Some(kept) = kept.filter(|kept| (place as usize) < kept.len()) else {
            return;
        };
        kept.swap_remove(place as usize);
        let moved = kept.get(place as usize).copied();
        if kept.capacity() > 4 * kept.len() + 16 {
            kept.shrink_to(2 * kept.len());
        }
        if let Some(entry) = moved.and_then(|moved| self.slots.get_mut(moved)) {
            entry.place = place;
        }
    }

    pub(super) fn find(&self, id: LeaseId) -> Option<u32> {
        let id = halves(id);
        let same = |slot: &u32| self.slots.get(*slot).is_some_and(|entry| entry.id == id);
        self.index.find(self.hash.hash_one(Some(id)), same).copied()
    }

    pub(super) fn lease_at(&self, slot: u32) -> Option<Lease> {
        let entry = self.slots.get(slot)?;
        // Each was checked before it came in.
        Some(Lease {
            source: MxPath::new(self.sources.text(entry.source)?.to_string()).ok()?,
            sink_realm: RealmName::new(&**self.realms.text(entry.realm)?).ok()?,
            sink_path: MxPath::new(entry.path.to_string()).ok()?,
            profile: entry.profile,
            ends: entry.ends,
            keeper: self.keepers.text(entry.keeper)?.to_string(),
            revision: entry.revision,
        })
    }
}

/// What an `Arc<str>` takes beside its text, the allocator's share included, about.
const PATH: usize = 32;

fn halves(id: LeaseId) -> [u64; 2] {
    let bits = id.bits();
    [(bits >> 64) as u64, bits as u64]
}

pub(super) fn id_of([high, low]: [u64; 2]) -> LeaseId {
    LeaseId::of_bits(u128::from(high) << 64 | u128::from(low))
}
