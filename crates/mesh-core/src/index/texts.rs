use super::entries::NONE;
use super::push;

/// The filters' texts in slots of 8, 16, … 256 bytes, one arena a size; a freed slot is used again.
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

/// Where a text is. No filter is longer than 255 bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextRef {
    pub(super) slot: u32,
    pub(super) len: u8,
}

impl TextRef {
    fn size(self) -> usize {
        usize::from(self.len) / 8
    }

    fn start(self) -> usize {
        self.slot as usize * stride(self.size())
    }
}

fn stride(size: usize) -> usize {
    (size + 1) * 8
}

impl Texts {
    pub(super) fn new() -> Self {
        Self {
            sizes: std::array::from_fn(|_| Arena {
                bytes: Vec::new(),
                vacant: NONE,
            }),
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.sizes.iter().map(|arena| arena.bytes.capacity()).sum()
    }

    #[inline]
    pub(super) fn bytes(&self, text: TextRef) -> &[u8] {
        let start = text.start();
        &self.sizes[text.size()].bytes[start..start + usize::from(text.len)]
    }

    /// `None`: longer than a filter may be, or out of slot numbers.
    pub(super) fn add(&mut self, text: &[u8]) -> Option<TextRef> {
        let mut found = TextRef {
            slot: 0,
            len: u8::try_from(text.len()).ok()?,
        };
        let stride = stride(found.size());
        let arena = &mut self.sizes[found.size()];
        if arena.vacant == NONE {
            found.slot = u32::try_from(arena.bytes.len() / stride).ok()?;
            for at in 0..stride {
                push(&mut arena.bytes, text.get(at).copied().unwrap_or(0));
            }
        } else {
            found.slot = arena.vacant;
            let start = found.start();
            let mut next = [0; 4];
            next.copy_from_slice(&arena.bytes[start..start + 4]);
            arena.vacant = u32::from_le_bytes(next);
            arena.bytes[start..start + text.len()].copy_from_slice(text);
        }
        Some(found)
    }

    pub(super) fn remove(&mut self, text: TextRef) {
        let start = text.start();
        let arena = &mut self.sizes[text.size()];
        arena.bytes[start..start + 4].copy_from_slice(&arena.vacant.to_le_bytes());
        arena.vacant = text.slot;
    }
}
