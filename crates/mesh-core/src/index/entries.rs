use super::edges::Key;
use super::push;
use super::texts::TextRef;

/// No entry, node or slot.
pub(super) const NONE: u32 = u32::MAX;

/// One value in a [`FilterIndex`](super::FilterIndex), for taking it out again.
///
/// It is good for one removal, so it can be neither copied nor cloned. It means nothing to any
/// other index.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct EntryId(pub(super) u32);

/// A value. The entries of one filter form a list; its head stands for the filter in the trie.
#[derive(Debug, Clone)]
pub(super) struct Entry<T> {
    /// `None`: vacant.
    pub(super) value: Option<T>,
    /// Of a head: the edge that leads to the leaf it is in.
    pub(super) key: Key,
    /// The next entry of the filter; if vacant, the next vacant one.
    pub(super) next: u32,
    /// Of a head: the next head in the same leaf, whose filter has the same symbols. Otherwise:
    /// the entry before.
    pub(super) link: u32,
    text_slot: u32,
    text_len: u8,
    pub(super) head: bool,
}

impl<T> Entry<T> {
    #[inline]
    pub(super) fn text(&self) -> TextRef {
        TextRef {
            slot: self.text_slot,
            len: self.text_len,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Entries<T> {
    slots: Vec<Entry<T>>,
    vacant: u32,
    len: usize,
}

impl<T> Entries<T> {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            vacant: NONE,
            len: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(super) fn at(&self, id: u32) -> &Entry<T> {
        &self.slots[id as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, id: u32) -> &mut Entry<T> {
        &mut self.slots[id as usize]
    }

    /// Whether `id` is one of its own that has a value.
    pub(super) fn holds(&self, id: u32) -> bool {
        let slot = self.slots.get(id as usize);
        slot.is_some_and(|entry| entry.value.is_some())
    }

    /// Adds a head that no list and no leaf knows yet.
    pub(super) fn add(&mut self, value: T, text: TextRef) -> u32 {
        let entry = Entry {
            value: Some(value),
            key: Key {
                parent: NONE,
                symbol: 0,
            },
            next: NONE,
            link: NONE,
            text_slot: text.slot,
            text_len: text.len,
            head: true,
        };
        self.len += 1;
        if self.vacant == NONE {
            push(&mut self.slots, entry);
            (self.slots.len() - 1) as u32
        } else {
            let id = self.vacant;
            self.vacant = self.at(id).next;
            *self.at_mut(id) = entry;
            id
        }
    }

    pub(super) fn remove(&mut self, id: u32) -> Option<T> {
        let vacant = std::mem::replace(&mut self.vacant, id);
        self.len -= 1;
        let entry = self.at_mut(id);
        entry.next = vacant;
        entry.value.take()
    }
}
