use std::collections::BTreeMap;

use hashbrown::HashMap;
use mesh_core::subject::{Filter, Subject};

/// Values under filters, found by subject.
#[derive(Debug)]
pub(crate) struct Table<T> {
    exact: HashMap<Subject, Vec<(EntryId, T)>>,
    wild: BTreeMap<EntryId, (Filter, T)>,
    places: HashMap<EntryId, Option<Subject>>,
    next: u64,
}

/// One entry of a [`Table`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryId(u64);

impl<T> Table<T> {
    pub(crate) fn new() -> Self {
        Self {
            exact: HashMap::new(),
            wild: BTreeMap::new(),
            places: HashMap::new(),
            next: 0,
        }
    }

    pub(crate) fn add(&mut self, filter: &Filter, value: T) -> EntryId {
        let id = EntryId(self.next);
        self.next += 1;
        let subject = filter.as_subject();
        match subject.clone() {
            Some(subject) => self.exact.entry(subject).or_default().push((id, value)),
            None => {
                self.wild.insert(id, (filter.clone(), value));
            }
        }
        self.places.insert(id, subject);
        id
    }

    pub(crate) fn remove(&mut self, id: EntryId) {
        match self.places.remove(&id) {
            None => {}
            Some(None) => {
                self.wild.remove(&id);
            }
            Some(Some(subject)) => {
                if let Some(entries) = self.exact.get_mut(&subject) {
                    entries.retain(|(entry, _)| *entry != id);
                    if entries.is_empty() {
                        self.exact.remove(&subject);
                    }
                }
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn for_each_match<'a>(&'a self, subject: &Subject, mut visit: impl FnMut(&'a T)) {
        for (_, value) in self.exact.get(subject).into_iter().flatten() {
            visit(value);
        }
        for (filter, value) in self.wild.values() {
            if filter.matches(subject) {
                visit(value);
            }
        }
    }
}
