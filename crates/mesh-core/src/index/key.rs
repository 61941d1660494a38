use super::symbol::{END, STAR, TAIL};

/// The node that every path begins at.
pub(super) const ROOT: u32 = 0;
/// In place of a node: above the leaves of the filters without wildcards.
pub(super) const EXACT: u32 = u32::MAX - 1;
/// More nodes or values than a [`Child`] can tell apart.
pub(super) const LIMIT: usize = 1 << 28;

/// What leads to a child: the node above and a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) parent: u32,
    pub(super) symbol: u32,
}

impl Key {
    /// Leads to the root, and to what is not in the trie yet.
    pub(super) const NOWHERE: Self = Self { parent: EXACT, symbol: END };

    /// Near each other for all of a node's wildcards, so that one piece of memory holds them.
    #[inline]
    pub(super) fn hash(self) -> u32 {
        match self.symbol {
            STAR | TAIL | END => mix(u64::from(self.parent) << 32) & !3 | self.symbol,
            symbol => mix(u64::from(self.parent) << 32 | u64::from(symbol)),
        }
    }

    /// Whether nothing follows: filters that come this far have all their symbols in common.
    pub(super) fn is_complete(self) -> bool {
        self.parent == EXACT || self.symbol == TAIL || self.symbol == END
    }
}

#[inline]
fn mix(key: u64) -> u32 {
    // 2⁶⁴ divided by the golden ratio.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let product = u128::from(key ^ FACTOR) * u128::from(FACTOR);
    (((product >> 64) as u64 ^ product as u64) >> 32) as u32
}

/// The first record of a leaf, or a node and which wildcards it has children under, in one word.
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
    const SPECIAL: u32 = LIMIT as u32;
    const ID: u32 = LIMIT as u32 - 1;

    pub(super) fn leaf(record: u32) -> Self {
        Self(record)
    }

    pub(super) fn node(node: u32) -> Self {
        Self(node | Self::NODE)
    }

    #[inline]
    pub(super) fn target(self) -> Target {
        if self.0 & Self::NODE == 0 {
            Target::Leaf(self.0)
        } else {
            Target::Node(self.0 & Self::ID)
        }
    }

    /// Whether the node has a child under this one of `STAR`, `TAIL`, `END`.
    #[inline]
    pub(super) fn has(self, special: u32) -> bool {
        self.0 & Self::SPECIAL << special != 0
    }

    pub(super) fn mark(&mut self, symbol: u32, has: bool) {
        if matches!(symbol, STAR | TAIL | END) {
            let bit = Self::SPECIAL << symbol;
            self.0 = if has { self.0 | bit } else { self.0 & !bit };
        }
    }
}
