use hashbrown::HashTable;

use super::entries::Entries;
use super::symbol::{END, STAR, TAIL};

/// The node that every path begins at.
pub(super) const ROOT: u32 = 0;
/// In place of a node: above the leaves of the filters without wildcards.
pub(super) const EXACT: u32 = u32::MAX - 1;
/// More nodes or entries than a [`Child`] can tell apart.
pub(super) const LIMIT: usize = (Child::NODE - 256) as usize;

/// What leads to a child: the node above and a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) parent: u32,
    pub(super) symbol: u32,
}

impl Key {
    #[inline]
    fn hash(self) -> u64 {
        // Odd, and with its bits well spread: 2⁶⁴ divided by the golden ratio.
        const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
        let key = u64::from(self.parent) << 32 | u64::from(self.symbol);
        let product = u128::from(key) * FACTOR;
        (product >> 64) as u64 ^ product as u64
    }

    /// Whether nothing follows: filters that come this far have all their symbols in common.
    pub(super) fn is_complete(self) -> bool {
        self.parent == EXACT || self.symbol == TAIL || self.symbol == END
    }
}

/// A node, or the first head of a leaf, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Child(u32);

impl Child {
    const NODE: u32 = 1 << 31;

    pub(super) fn leaf(head: u32) -> Self {
        Self(head)
    }

    pub(super) fn node(node: u32) -> Self {
        Self(node | Self::NODE)
    }

    /// The node, or else the head.
    #[inline]
    pub(super) fn get(self) -> Result<u32, u32> {
        if self.0 & Self::NODE != 0 {
            Ok(self.0 & !Self::NODE)
        } else {
            Err(self.0)
        }
    }
}

/// A beginning that at least two filters share; the root may have fewer.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) key: Key,
    /// How many heads are below.
    pub(super) heads: u32,
    /// All of them, exclusive-ored: where one remains, this is it.
    pub(super) xor: u32,
    /// Bit `1 << symbol` for each child under `STAR`, `TAIL` or `END`.
    special: u8,
}

impl Node {
    pub(super) fn new(key: Key, heads: u32, xor: u32) -> Self {
        Self {
            key,
            heads,
            xor,
            special: 0,
        }
    }

    pub(super) fn root() -> Self {
        let nowhere = Key {
            parent: EXACT,
            symbol: END,
        };
        Self::new(nowhere, 0, 0)
    }

    #[inline]
    pub(super) fn has(&self, special: u32) -> bool {
        self.special & 1 << special != 0
    }

    pub(super) fn mark(&mut self, symbol: u32) {
        if matches!(symbol, STAR | TAIL | END) {
            self.special |= 1 << symbol;
        }
    }

    pub(super) fn unmark(&mut self, symbol: u32) {
        if matches!(symbol, STAR | TAIL | END) {
            self.special &= !(1 << symbol);
        }
    }
}

/// All edges of the trie. A child knows its own key, so an edge is one word.
#[derive(Debug, Clone)]
pub(super) struct Edges(HashTable<Child>);

impl Edges {
    pub(super) fn new() -> Self {
        Self(HashTable::new())
    }

    #[inline]
    pub(super) fn find<T>(&self, key: Key, nodes: &[Node], entries: &Entries<T>) -> Option<Child> {
        let is_key = |child: &Child| key_of(*child, nodes, entries) == key;
        self.0.find(key.hash(), is_key).copied()
    }

    /// Adds a child that knows its key already, and whose key leads nowhere yet.
    pub(super) fn add<T>(&mut self, child: Child, nodes: &[Node], entries: &Entries<T>) {
        let hash = |child: &Child| key_of(*child, nodes, entries).hash();
        self.0.insert_unique(hash(&child), child, hash);
    }

    /// Lets the edge under `key` lead from `old` to `new`.
    pub(super) fn replace(&mut self, key: Key, old: Child, new: Child) {
        if let Some(child) = self.0.find_mut(key.hash(), |child| *child == old) {
            *child = new;
        }
    }

    pub(super) fn remove(&mut self, key: Key, child: Child) {
        if let Ok(found) = self.0.find_entry(key.hash(), |found| *found == child) {
            found.remove();
        }
    }
}

#[inline]
fn key_of<T>(child: Child, nodes: &[Node], entries: &Entries<T>) -> Key {
    match child.get() {
        Ok(node) => nodes[node as usize].key,
        Err(head) => entries.at(head).key,
    }
}
