use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which entry ends next.
///
/// An entry stands in here once. That it was extended is seen when its old end has come, and it goes back
/// with the new one: an extension costs nothing here. An entry is named by its slot and a stamp that tells
/// it from what had the slot before.
#[derive(Debug, Default)]
pub(crate) struct Due {
    heap: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

impl Due {
    /// The entry ends at `due` at the earliest.
    pub(crate) fn push(&mut self, due: u64, slot: u32, stamp: u32) {
        self.heap.push(Reverse((due, slot, stamp)));
    }

    /// When to look next: nothing ends before.
    pub(crate) fn next(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((due, ..))| *due)
    }

    /// An entry whose end has come at `now`. `end` says when an entry ends, `None` where it is gone.
    pub(crate) fn pop(
        &mut self,
        now: u64,
        mut end: impl FnMut(u32, u32) -> Option<u64>,
    ) -> Option<u32> {
        while let Some(mut first) = self.heap.peek_mut() {
            let Reverse((due, slot, stamp)) = *first;
            if due > now {
                return None;
            }
            match end(slot, stamp) {
                Some(end) if end > now => *first = Reverse((end, slot, stamp)),
                found => {
                    std::collections::binary_heap::PeekMut::pop(first);
                    if found.is_some() {
                        return Some(slot);
                    }
                }
            }
        }
        None
    }

    /// Drops what is gone, where that is more than is there: `live` entries.
    pub(crate) fn tidy(&mut self, live: usize, is_there: impl Fn(u32, u32) -> bool) {
        if self.heap.len() > 2 * live + 64 {
            self.heap.retain(|Reverse((_, slot, stamp))| is_there(*slot, *stamp));
            self.heap.shrink_to(2 * live + 64);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.heap.capacity() * size_of::<(u64, u32, u32)>()
    }
}
