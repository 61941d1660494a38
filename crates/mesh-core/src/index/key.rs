use super::symbol::{END, STAR, Step, TAIL, is_token, spread};

/// The node that every path begins at.
pub(super) const ROOT: u32 = 0;
/// In place of a node: above the leaves of the filters without wildcards, by their texts' hashes.
pub(super) const EXACT: u32 = u32::MAX - 1;
/// In place of a node: above the tokens, by their hashes.
pub(super) const TOKENS: u32 = u32::MAX - 2;
/// More values, or tokens, than a [`Child`] can tell apart.
pub(super) const LIMIT: usize = 1 << 28;
/// More nodes than a [`Child`] can tell apart.
pub(super) const NODES: usize = 1 << 26;
/// The most tokens' edges of a node that has all its edges side by side.
pub(super) const FEW: u32 = 2;

/// Set in the parent of a key if the node's edges under tokens are [many](Child::spread).
const SPREAD: u32 = 1 << 30;

/// What leads to a child: the node above, and a symbol, which is `STAR`, `TAIL`, `END` or a token's
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) parent: u32,
    pub(super) symbol: u32,
}

impl Key {
    /// Leads to the root, and to what is not in the trie yet.
    pub(super) const NOWHERE: Self = Self { parent: EXACT, symbol: END };
    /// What no key is [packed](Self::packed) to.
    pub(super) const UNUSED: u64 = u64::MAX;

    #[inline]
    pub(super) fn packed(self) -> u64 {
        u64::from(self.parent) << 32 | u64::from(self.symbol)
    }

    pub(super) fn unpacked(packed: u64) -> Self {
        Self { parent: (packed >> 32) as u32, symbol: packed as u32 }
    }

    /// The node above.
    #[inline]
    pub(super) fn node(self) -> u32 {
        self.parent & !SPREAD
    }

    /// The same for all edges of a node, but those under many tokens: so that one piece of memory
    /// holds them.
    #[inline]
    pub(super) fn hash(self, mixer: Mixer) -> u32 {
        let symbol = if self.parent & SPREAD == 0 { 0 } else { self.symbol };
        mixer.mix(u64::from(self.parent) << 32 | u64::from(symbol))
    }
}

/// Mixes keys by a seed: who may add filters numbers nodes as they like, too.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mixer {
    mask: u64,
    factor: u64,
}

impl Mixer {
    pub(super) fn seeded(seed: u64) -> Self {
        // Bits at both ends: a factor without them would lose some of the key's.
        Self { mask: spread(seed, 0), factor: spread(seed, 1) | 1 << 63 | 1 }
    }

    #[inline]
    fn mix(self, key: u64) -> u32 {
        let product = u128::from(key ^ self.mask) * u128::from(self.factor);
        (((product >> 64) as u64 ^ product as u64) >> 32) as u32
    }
}

/// What an edge leads to, in one word: a node and what it has children under, or a record and what
/// its filter goes on with. Also a token, by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Child(u32);

/// What a [`Child`] leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Node(u32),
    Leaf(u32),
}

impl Child {
    /// None.
    pub(super) const NONE: Self = Self(u32::MAX);
    const NODE: u32 = 1 << 31;
    const UNDER: u32 = NODES as u32;

    pub(super) fn leaf(record: u32, rest: Rest) -> Self {
        Self(record | rest.0 << LIMIT.trailing_zeros())
    }

    pub(super) fn node(node: u32) -> Self {
        Self(node | Self::NODE)
    }

    #[inline]
    pub(super) fn target(self) -> Target {
        if self.0 & Self::NODE == 0 {
            Target::Leaf(self.0 & (LIMIT as u32 - 1))
        } else {
            Target::Node(self.0 & (NODES as u32 - 1))
        }
    }

    /// The key of the edge from this node under a symbol.
    #[inline]
    pub(super) fn key(self, symbol: u32) -> Key {
        let spread = if is_token(symbol) { SPREAD } else { 0 };
        Key { parent: self.0 & ((NODES as u32 - 1) | spread), symbol }
    }

    /// Whether the edges under tokens are all over the table, since the node had more than a
    /// [`FEW`].
    #[inline]
    pub(super) fn is_spread(self) -> bool {
        self.0 & SPREAD != 0
    }

    pub(super) fn spread(&mut self, spread: bool) {
        self.0 = if spread { self.0 | SPREAD } else { self.0 & !SPREAD };
    }

    /// A token: whether its symbol is its hash.
    pub(super) fn token(token: u32, plain: bool) -> Self {
        Self::leaf(token, Rest(plain.into()))
    }

    #[inline]
    pub(super) fn is_plain(self) -> bool {
        self.rest() == Rest(1)
    }

    /// What is left of a leaf's filter.
    #[inline]
    pub(super) fn rest(self) -> Rest {
        Rest(self.0 >> LIMIT.trailing_zeros())
    }

    fn bit(symbol: u32) -> u32 {
        // All tokens are one.
        Self::UNDER << symbol.min(END + 1)
    }

    /// Whether the node has a child under this one of `STAR`, `TAIL`, `END`, or under any token.
    #[inline]
    pub(super) fn has(self, symbol: u32) -> bool {
        self.0 & Self::bit(symbol) != 0
    }

    pub(super) fn mark(&mut self, symbol: u32, has: bool) {
        let bit = Self::bit(symbol);
        self.0 = if has { self.0 | bit } else { self.0 & !bit };
    }
}

/// What of a filter stands behind the edge of its leaf, where that is nothing but a few wildcards:
/// then how many tokens are left of a subject tells whether it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rest(u32);

impl Rest {
    /// Below: that many or more. Above: as many as it is more than `EXACTLY`.
    const TEXT: u32 = 3;
    const EXACTLY: u32 = 4;
    const MOST: u32 = 7;

    /// Nothing that has to be looked at.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn of<'f>(path: impl Iterator<Item = Step<'f>>) -> Self {
        let mut stars = 0;
        for step in path {
            match step {
                Step::Token(_) => return Self(Self::TEXT),
                Step::Special(TAIL) => return Self((stars + 1).min(Self::TEXT)),
                Step::Special(STAR) => stars += 1,
                Step::Special(_) if Self::EXACTLY + stars > Self::MOST => return Self(Self::TEXT),
                Step::Special(_) => return Self(Self::EXACTLY + stars),
            }
        }
        // The edge was under `TAIL` or `END`.
        Self::NONE
    }

    /// Whether it matches so many tokens. `None`: the texts tell.
    #[inline]
    pub(super) fn takes(self, tokens: u32) -> Option<bool> {
        match self.0 {
            Self::TEXT => None,
            least @ ..Self::TEXT => Some(tokens >= least),
            exactly => Some(tokens == exactly - Self::EXACTLY),
        }
    }
}
