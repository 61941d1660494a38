use std::hash::Hasher;

use rustc_hash::FxHasher;

/// `*`.
pub(super) const STAR: u32 = 0;
/// A last `>`.
pub(super) const TAIL: u32 = 1;
/// Behind the last token, where that is no `>`.
pub(super) const END: u32 = 2;
/// Set in every other symbol.
const ORDINARY: u32 = 4;

/// Turns tokens into symbols. Two tokens may share one, and do so often where a test narrows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbols {
    mask: u32,
}

impl Symbols {
    pub(super) fn new() -> Self {
        Self { mask: u32::MAX }
    }

    #[cfg(test)]
    pub(super) fn narrowed(mask: u32) -> Self {
        Self { mask }
    }

    /// The symbol of a token, or of a whole text, that is no wildcard.
    #[inline]
    pub(super) fn of(self, text: &[u8]) -> u32 {
        let mut hasher = FxHasher::default();
        hasher.write(text);
        let hash = hasher.finish();
        ((hash ^ (hash >> 32)) as u32 & self.mask) | ORDINARY
    }

    /// The path of a filter with a wildcard.
    pub(super) fn path(self, filter: &[u8]) -> impl Iterator<Item = u32> {
        let end = match filter {
            [b'>'] | [.., b'.', b'>'] => None,
            _ => Some(END),
        };
        filter
            .split(|&byte| byte == b'.')
            .map(move |token| match token {
                b"*" => STAR,
                b">" => TAIL,
                token => self.of(token),
            })
            .chain(end)
    }
}
