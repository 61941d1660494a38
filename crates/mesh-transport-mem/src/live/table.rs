use hashbrown::HashMap;
use mesh_core::index::{self, FilterIndex, IndexFull};
use mesh_core::subject::{Filter, Subject};

/// Values under filters, found by subject: a [`FilterIndex`] whose entries have numbers that can be
/// copied, since both a subscription and its connection may be the one to end it.
#[derive(Debug)]
pub(crate) struct Table<T> {
    index: FilterIndex<T>,
    entries: HashMap<EntryId, index::EntryId>,
    next: u64,
}

/// One entry of a [`Table`]. Never used again after its removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryId(u64);

impl<T> Table<T> {
    /// Its filters come from the accounts, so `seed` is nothing that they can know.
    pub(crate) fn new(seed: u64) -> Self {
        Self { index: FilterIndex::seeded(seed), entries: HashMap::new(), next: 0 }
    }

    pub(crate) fn add(&mut self, filter: &Filter, value: T) -> Result<EntryId, IndexFull> {
        let entry = self.index.add(filter, value)?;
        let id = EntryId(self.next);
        self.next += 1;
        self.entries.insert(id, entry);
        Ok(id)
    }

    pub(crate) fn remove(&mut self, id: EntryId) {
        if let Some(entry) = self.entries.remove(&id) {
            self.index.remove(entry);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn for_each_match<'a>(&'a self, subject: &Subject, visit: impl FnMut(&'a T)) {
        self.index.for_each_match(subject, visit);
    }
}
