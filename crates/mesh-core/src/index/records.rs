use smallvec::SmallVec;

use super::key::Key;
use super::push;
use super::texts::TextRef;

/// No record, node or slot.
pub(super) const NONE: u32 = u32::MAX;

/// One value in a [`FilterIndex`](super::FilterIndex), for taking it out again.
///
/// It is good for one removal, so it can be neither copied nor cloned. It means nothing to any
/// other index.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct EntryId(pub(super) u32);

/// A filter and its values. A vacant one has no values, and `link` leads to the next vacant one.
#[derive(Debug, Clone)]
pub(super) struct Record<T> {
    /// Side by side, as visiting a list link by link would wait for memory at each; with each,
    /// the number of its place in `Records::places`.
    pub(super) values: SmallVec<[(T, u32); 1]>,
    pub(super) text: TextRef,
    /// The next record in the same leaf: a filter with the same symbols.
    pub(super) link: u32,
}

/// Where the value of an [`EntryId`] is. If vacant, `record` is [`NONE`] and `position` the next
/// vacant place.
#[derive(Debug, Clone)]
struct Place {
    record: u32,
    position: u32,
}

#[derive(Debug, Clone)]
pub(super) struct Records<T> {
    records: Vec<Record<T>>,
    /// The edge that leads to the leaf that a record is in.
    keys: Vec<Key>,
    vacant_record: u32,
    places: Vec<Place>,
    vacant_place: u32,
    len: usize,
}

impl<T> Records<T> {
    pub(super) fn new() -> Self {
        Self {
            records: Vec::new(),
            keys: Vec::new(),
            vacant_record: NONE,
            places: Vec::new(),
            vacant_place: NONE,
            len: 0,
        }
    }

    /// How many values.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The most values that were there at once.
    pub(super) fn places(&self) -> usize {
        self.places.len()
    }

    /// The most filters that were there at once.
    #[cfg(test)]
    pub(super) fn records(&self) -> usize {
        self.records.len()
    }

    #[inline]
    pub(super) fn at(&self, record: u32) -> &Record<T> {
        &self.records[record as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, record: u32) -> &mut Record<T> {
        &mut self.records[record as usize]
    }

    #[inline]
    pub(super) fn key(&self, record: u32) -> Key {
        self.keys[record as usize]
    }

    pub(super) fn set_key(&mut self, record: u32, key: Key) {
        self.keys[record as usize] = key;
    }

    /// A record without values that no leaf knows yet.
    pub(super) fn add(&mut self, text: TextRef) -> u32 {
        let record = Record { values: SmallVec::new(), text, link: NONE };
        if self.vacant_record == NONE {
            push(&mut self.records, record);
            push(&mut self.keys, Key::NOWHERE);
            (self.records.len() - 1) as u32
        } else {
            let id = self.vacant_record;
            self.vacant_record = self.at(id).link;
            *self.at_mut(id) = record;
            id
        }
    }

    pub(super) fn remove(&mut self, record: u32) {
        self.at_mut(record).link = self.vacant_record;
        self.vacant_record = record;
    }

    pub(super) fn add_value(&mut self, record: u32, value: T) -> EntryId {
        let place = Place { record, position: self.at(record).values.len() as u32 };
        let id = if self.vacant_place == NONE {
            push(&mut self.places, place);
            (self.places.len() - 1) as u32
        } else {
            let id = self.vacant_place;
            let old = std::mem::replace(&mut self.places[id as usize], place);
            self.vacant_place = old.position;
            id
        };
        self.at_mut(record).values.push((value, id));
        self.len += 1;
        EntryId(id)
    }

    /// The value and the record that it was taken from.
    pub(super) fn remove_value(&mut self, EntryId(id): &EntryId) -> Option<(T, u32)> {
        let place = self.places.get_mut(*id as usize)?;
        let Place { record, position } = *place;
        if record == NONE {
            return None;
        }
        *place = Place { record: NONE, position: self.vacant_place };
        self.vacant_place = *id;
        self.len -= 1;
        let values = &mut self.at_mut(record).values;
        let (value, _) = values.swap_remove(position as usize);
        if values.spilled() && values.len() <= values.capacity() / 4 {
            values.shrink_to_fit();
        }
        if let Some(&(_, moved)) = values.get(position as usize) {
            self.places[moved as usize].position = position;
        }
        Some((value, record))
    }
}
