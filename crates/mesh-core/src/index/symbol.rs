use std::hash::Hasher as _;

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;

/// `*`.
pub(super) const STAR: u32 = 0;
/// A last `>`.
pub(super) const TAIL: u32 = 1;
/// Behind the last token, where that is no `>`.
pub(super) const END: u32 = 2;
/// The least of the other symbols.
const FIRST: u32 = 3;

/// Whether it is a token's.
#[inline]
pub(super) fn is_token(symbol: u32) -> bool {
    symbol >= FIRST
}

/// One step of a filter's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'f> {
    /// Any token but a wildcard.
    Token(&'f [u8]),
    /// One of `STAR`, `TAIL`, `END`.
    Special(u32),
}

/// The path of a filter with a wildcard.
pub(super) fn path(filter: &[u8]) -> impl Iterator<Item = Step<'_>> {
    let end = match filter {
        [b'>'] | [.., b'.', b'>'] => None,
        _ => Some(Step::Special(END)),
    };
    tokens(filter)
        .map(|token| match token {
            b"*" => Step::Special(STAR),
            b">" => Step::Special(TAIL),
            token => Step::Token(token),
        })
        .chain(end)
}

#[inline]
pub(super) fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'.')
}

/// Hashes texts by a seed, and badly where a test narrows it.
#[derive(Debug, Clone)]
pub(super) struct Hashes {
    start: u64,
    shared: SharedSeed,
    mask: u32,
}

impl Hashes {
    pub(super) fn seeded(seed: u64) -> Self {
        Self { start: spread(seed, 2), shared: SharedSeed::from_u64(seed), mask: u32::MAX }
    }

    #[cfg(test)]
    pub(super) fn narrowed(mask: u32) -> Self {
        Self { mask, ..Self::seeded(0) }
    }

    /// Not more than 31 bits, and no special symbol.
    #[inline]
    pub(super) fn of(&self, text: &[u8]) -> u32 {
        let mut hasher = FoldHasher::with_seed(self.start, &self.shared);
        hasher.write(text);
        let hash = hasher.finish();
        ((hash ^ (hash >> 32)) as u32 & self.mask & (u32::MAX >> 1)).max(FIRST)
    }
}

/// The number of this place in what follows from a seed (SplitMix64).
pub(super) fn spread(seed: u64, place: u64) -> u64 {
    // 2⁶⁴ divided by the golden ratio.
    let mut z = seed.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
