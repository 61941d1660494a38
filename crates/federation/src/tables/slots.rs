/// Entries at numbers that stay theirs until they are removed; a number is used again afterwards.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slots<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The number that the next [`insert`](Self::insert) gives; `None` where there is none left.
    pub(crate) fn next(&self) -> Option<u32> {
        self.free.last().copied().or_else(|| u32::try_from(self.slots.len()).ok())
    }

    /// `None` where all 2³² numbers are taken.
    pub(crate) fn insert(&mut self, entry: T) -> Option<u32> {
        let slot = self.next()?;
        if self.free.pop().is_some() {
            self.slots[slot as usize] = Some(entry);
        } else {
            self.slots.push(Some(entry));
        }
        Some(slot)
    }

    pub(crate) fn get(&self, slot: u32) -> Option<&T> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, slot: u32) -> Option<T> {
        let entry = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        if self.free.len() == self.slots.len() {
            // Nothing is left: neither is the room of a flood.
            *self = Self::new();
        }
        Some(entry)
    }

    /// What is at `from` and behind, with its number.
    pub(crate) fn iter_from(&self, from: u32) -> impl Iterator<Item = (u32, &T)> {
        let rest = self.slots.get(from as usize..).unwrap_or_default();
        (from..).zip(rest).filter_map(|(slot, entry)| Some((slot, entry.as_ref()?)))
    }

    /// Bytes that the two lists take.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Option<T>>() + self.free.capacity() * size_of::<u32>()
    }
}
