use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;

use super::Slots;

/// Texts that many entries share, each kept once for as long as an entry uses it, with something of its
/// own.
#[derive(Debug)]
pub(crate) struct Names<V> {
    slots: Slots<Name<V>>,
    index: HashTable<u32>,
    hash: RandomState,
    text_bytes: usize,
}

#[derive(Debug)]
struct Name<V> {
    text: Arc<str>,
    users: u32,
    value: V,
}

/// What the allocator and the two counters of an `Arc<str>` take beside the text, about.
const ALLOCATION: usize = 32;

impl<V: Default> Names<V> {
    pub(crate) fn new() -> Self {
        Self {
            slots: Slots::new(),
            index: HashTable::new(),
            hash: RandomState::new(),
            text_bytes: 0,
        }
    }

    /// How many texts there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn find(&self, text: &str) -> Option<u32> {
        let hash = self.hash.hash_one(text);
        let same = |slot: &u32| self.slots.get(*slot).is_some_and(|name| *name.text == *text);
        self.index.find(hash, same).copied()
    }

    /// One user more of `text`. `None` where no number is left for it.
    pub(crate) fn hold(&mut self, text: &str) -> Option<u32> {
        if let Some(slot) = self.find(text) {
            let name = self.slots.get_mut(slot)?;
            name.users = name.users.checked_add(1)?;
            return Some(slot);
        }
        let name = Name { text: Arc::from(text), users: 1, value: V::default() };
        let slot = self.slots.insert(name)?;
        let Self { slots, index, hash, .. } = self;
        let rehash = |slot: &u32| hash.hash_one(slots.get(*slot).map_or("", |name| &*name.text));
        index.insert_unique(hash.hash_one(text), slot, rehash);
        self.text_bytes += text.len() + ALLOCATION;
        Some(slot)
    }

    /// One user less; the last takes the text along.
    pub(crate) fn release(&mut self, slot: u32) {
        let Some(name) = self.slots.get_mut(slot) else {
            return;
        };
        name.users -= 1;
        if name.users > 0 {
            return;
        }
        let Some(name) = self.slots.remove(slot) else {
            return;
        };
        self.text_bytes -= name.text.len() + ALLOCATION;
        let hash = self.hash.hash_one(&*name.text);
        if let Ok(found) = self.index.find_entry(hash, |other| *other == slot) {
            found.remove();
        }
        if self.slots.len() == 0 {
            self.index = HashTable::new();
        }
    }

    pub(crate) fn text(&self, slot: u32) -> Option<&Arc<str>> {
        self.slots.get(slot).map(|name| &name.text)
    }

    /// How many entries use it.
    pub(crate) fn users(&self, slot: u32) -> u32 {
        self.slots.get(slot).map_or(0, |name| name.users)
    }

    pub(crate) fn value(&self, slot: u32) -> Option<&V> {
        self.slots.get(slot).map(|name| &name.value)
    }

    pub(crate) fn value_mut(&mut self, slot: u32) -> Option<&mut V> {
        self.slots.get_mut(slot).map(|name| &mut name.value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Arc<str>, &V)> {
        self.slots.iter_from(0).map(|(slot, name)| (slot, &name.text, &name.value))
    }

    /// Bytes of the lists and the texts, the values' own allocations left out.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.bytes() + self.index.allocation_size() + self.text_bytes
    }
}
