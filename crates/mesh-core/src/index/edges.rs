use super::records::NONE;
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
    pub(super) const NOWHERE: Self = Self {
        parent: EXACT,
        symbol: END,
    };

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
            self.0 = self.0 & !(Self::SPECIAL << symbol) | u32::from(has) * Self::SPECIAL << symbol;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    hash: u32,
    child: Child,
}

/// All edges of the trie: a hash table with linear probing, its slots in the order of the hashes.
///
/// An edge keeps its key's hash and not the key, which its child knows. A search follows every
/// edge with the right hash, so it need not look at a child before it has looked up all the keys
/// of a level: such look-ups don't wait for each other, and waiting for memory is what a search
/// among a million filters spends its time on. That is why this is no `hashbrown` table.
#[derive(Debug, Clone)]
pub(super) struct Edges {
    /// Vacant at the end.
    slots: Vec<Slot>,
    /// How many of the slots are some hash's home; those behind them are for what overflows.
    homes: u32,
    len: usize,
}

const VACANT: Slot = Slot {
    hash: 0,
    child: Child(NONE),
};

impl Edges {
    pub(super) fn new() -> Self {
        Self::with_homes(8)
    }

    fn with_homes(homes: u32) -> Self {
        Self {
            slots: vec![VACANT; homes as usize + 8],
            homes,
            len: 0,
        }
    }

    /// Where the search for a hash begins: the higher the hash, the further back.
    #[inline]
    fn home(&self, hash: u32) -> usize {
        (u64::from(hash) * u64::from(self.homes) >> 32) as usize
    }

    /// Begins to look for the keys with this hash.
    #[inline]
    pub(super) fn ask(&self, hash: u32) -> Asked {
        let at = self.home(hash);
        let slot = self.slots[at];
        Asked { hash, at, slot }
    }

    /// The children whose key has the hash asked for.
    #[inline]
    pub(super) fn answer(&self, asked: Asked, mut found: impl FnMut(Child)) {
        let Asked {
            hash,
            mut at,
            mut slot,
        } = asked;
        while slot.child != VACANT.child && slot.hash <= hash {
            if slot.hash == hash {
                found(slot.child);
            }
            at += 1;
            slot = self.slots[at];
        }
    }

    pub(super) fn add(&mut self, key: Key, child: Child) {
        if self.len >= self.homes as usize * 7 / 10 {
            // The slots are in order, and stay so.
            let mut larger = Self::with_homes(self.homes / 5 * 7 + 8);
            for slot in &self.slots {
                if slot.child != VACANT.child {
                    larger.put(*slot);
                }
            }
            *self = larger;
        }
        let hash = key.hash();
        self.put(Slot { hash, child });
    }

    fn put(&mut self, slot: Slot) {
        let mut at = self.home(slot.hash);
        while self.slots[at].child != VACANT.child && self.slots[at].hash <= slot.hash {
            at += 1;
        }
        // What is behind it moves on by one, up to the next vacant slot.
        let mut moving = slot;
        while moving.child != VACANT.child {
            std::mem::swap(&mut moving, &mut self.slots[at]);
            at += 1;
        }
        if at == self.slots.len() {
            self.slots.push(VACANT);
        }
        self.len += 1;
    }

    fn position(&self, key: Key, target: Target) -> Option<usize> {
        let mut at = self.home(key.hash());
        while self.slots[at].child != VACANT.child {
            if self.slots[at].child.target() == target {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// The edge that leads to `target`, whose key is `key`.
    pub(super) fn get_mut(&mut self, key: Key, target: Target) -> Option<&mut Child> {
        let at = self.position(key, target)?;
        Some(&mut self.slots[at].child)
    }

    pub(super) fn remove(&mut self, key: Key, target: Target) {
        let Some(mut at) = self.position(key, target) else {
            return;
        };
        // What is behind it and not at home moves back by one.
        while self.slots[at + 1].child != VACANT.child && self.home(self.slots[at + 1].hash) <= at {
            self.slots[at] = self.slots[at + 1];
            at += 1;
        }
        self.slots[at] = VACANT;
        self.len -= 1;
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }
}

/// A look-up on its way: the slot where it begins is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    hash: u32,
    at: usize,
    slot: Slot,
}
