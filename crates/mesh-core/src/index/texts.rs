use std::hint::black_box;

use super::push;
use super::records::NONE;

/// The filters' texts in slots of 8, 16, … 256 bytes, one arena a size, each text behind a byte
/// with its length. A freed slot is used again.
#[derive(Debug, Clone)]
pub(super) struct Texts {
    sizes: [Arena; 32],
}

#[derive(Debug, Clone)]
struct Arena {
    bytes: Vec<u8>,
    /// The first vacant slot; each begins with the number of the next.
    vacant: u32,
}

/// Where a text is: the arena's number in the last five bits, the slot's above.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextRef(u32);

impl TextRef {
    const SIZES: u32 = 32;

    /// `None`: the arena has all the slots that can be numbered.
    fn new(size: usize, slot: usize) -> Option<Self> {
        let slot = u32::try_from(slot).ok()?;
        let number = slot.checked_mul(Self::SIZES)?;
        Some(Self(number | size as u32))
    }

    #[inline]
    fn size(self) -> usize {
        (self.0 % Self::SIZES) as usize
    }

    fn slot(self) -> u32 {
        self.0 / Self::SIZES
    }

    #[inline]
    fn start(self) -> usize {
        self.slot() as usize * stride(self.size())
    }
}

#[inline]
fn stride(size: usize) -> usize {
    (size + 1) * 8
}

impl Texts {
    pub(super) fn new() -> Self {
        Self { sizes: std::array::from_fn(|_| Arena { bytes: Vec::new(), vacant: NONE }) }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.sizes.iter().map(|arena| arena.bytes.capacity()).sum()
    }

    #[inline]
    pub(super) fn bytes(&self, text: TextRef) -> &[u8] {
        let slot = &self.sizes[text.size()].bytes[text.start()..];
        &slot[1..=usize::from(slot[0])]
    }

    /// Begins to read what [`bytes`](Self::bytes) gives.
    #[inline]
    pub(super) fn touch(&self, text: TextRef) {
        black_box(self.sizes[text.size()].bytes[text.start()]);
    }

    /// `None`: longer than a filter may be, or there is no room.
    pub(super) fn add(&mut self, text: &[u8]) -> Option<TextRef> {
        let len = u8::try_from(text.len()).ok()?;
        let size = text.len() / 8;
        let arena = &mut self.sizes[size];
        let found = if arena.vacant == NONE {
            let found = TextRef::new(size, arena.bytes.len() / stride(size))?;
            for _ in 0..stride(size) {
                push(&mut arena.bytes, 0);
            }
            found
        } else {
            let found = TextRef::new(size, arena.vacant as usize)?;
            let mut next = [0; 4];
            next.copy_from_slice(&arena.bytes[found.start()..][..4]);
            arena.vacant = u32::from_le_bytes(next);
            found
        };
        let slot = &mut arena.bytes[found.start()..];
        slot[0] = len;
        slot[1..=text.len()].copy_from_slice(text);
        Some(found)
    }

    pub(super) fn remove(&mut self, text: TextRef) {
        let arena = &mut self.sizes[text.size()];
        arena.bytes[text.start()..][..4].copy_from_slice(&arena.vacant.to_le_bytes());
        arena.vacant = text.slot();
    }
}
