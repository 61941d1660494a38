use super::key::{Child, Key, Target};

/// All edges of the trie: a hash table of groups, each as large as the piece of memory that a
/// processor reads at once.
///
/// An edge keeps its key's hash and not the key, which its child knows. A search follows every
/// edge with the right hash, so it need not look at a child before it has looked up all the keys
/// of a level: such look-ups don't wait for each other, and waiting for memory is what a search
/// among a million filters spends its time on. That is why this is no `hashbrown` table.
#[derive(Debug, Clone)]
pub(super) struct Edges {
    /// Never full at the end.
    groups: Vec<Group>,
    /// How many of the groups are some hash's home; those behind them take what overflows.
    homes: u32,
    len: usize,
}

/// Edges side by side from the front. If it is full, some that belong here may be in the next.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Group {
    hashes: [u32; SIZE],
    children: [Child; SIZE],
}

const SIZE: usize = 8;

/// The most edges a group has on average: with more, too many groups are full.
const USUAL: usize = 5;

impl Group {
    const EMPTY: Self = Self { hashes: [0; SIZE], children: [Child::NONE; SIZE] };

    #[inline]
    fn is_full(&self) -> bool {
        self.children[SIZE - 1] != Child::NONE
    }

    fn len(&self) -> usize {
        let used = |child: &&Child| **child != Child::NONE;
        self.children.iter().take_while(used).count()
    }

    fn edges(&self) -> impl Iterator<Item = (u32, Child)> + use<> {
        let edges = self.hashes.into_iter().zip(self.children);
        edges.take(self.len())
    }
}

/// A look-up on its way: the group where it begins is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    hash: u32,
    group: u32,
    full: bool,
}

impl Edges {
    pub(super) fn new() -> Self {
        Self::with_homes(1)
    }

    fn with_homes(homes: u32) -> Self {
        Self { groups: vec![Group::EMPTY; homes as usize + 1], homes, len: 0 }
    }

    #[inline]
    fn home(&self, hash: u32) -> u32 {
        ((u64::from(hash) * u64::from(self.homes)) >> 32) as u32
    }

    /// Begins to look for the keys with this hash.
    #[inline]
    pub(super) fn ask(&self, hash: u32) -> Asked {
        let group = self.home(hash);
        let full = self.groups[group as usize].is_full();
        Asked { hash, group, full }
    }

    /// The children whose key has the hash asked for.
    #[inline]
    pub(super) fn answer(&self, asked: Asked, mut found: impl FnMut(Child)) {
        let mut full = asked.full;
        for group in &self.groups[asked.group as usize..] {
            let mut equal = 0u32;
            for (at, &hash) in group.hashes.iter().enumerate() {
                equal |= u32::from(hash == asked.hash) << at;
            }
            while equal != 0 {
                let child = group.children[equal.trailing_zeros() as usize];
                if child != Child::NONE {
                    found(child);
                }
                equal &= equal - 1;
            }
            if !full {
                return;
            }
            full = group.is_full();
        }
    }

    pub(super) fn add(&mut self, key: Key, child: Child) {
        if self.len >= self.homes as usize * USUAL {
            let mut larger = Self::with_homes(self.homes + self.homes / 3 + 1);
            for (hash, child) in self.groups.iter().flat_map(Group::edges) {
                larger.put(hash, child);
            }
            *self = larger;
        }
        self.put(key.hash(), child);
    }

    fn put(&mut self, hash: u32, child: Child) {
        let mut at = self.home(hash) as usize;
        while self.groups[at].is_full() {
            at += 1;
        }
        let group = &mut self.groups[at];
        let free = group.len();
        group.hashes[free] = hash;
        group.children[free] = child;
        self.len += 1;
        if at + 1 == self.groups.len() && self.groups[at].is_full() {
            self.groups.push(Group::EMPTY);
        }
    }

    /// The group and the place in it of the edge that leads to `target`, whose key is `key`.
    fn position(&self, key: Key, target: Target) -> Option<(usize, usize)> {
        let home = self.home(key.hash()) as usize;
        for (at, group) in self.groups.iter().enumerate().skip(home) {
            let mut edges = group.edges();
            if let Some(place) = edges.position(|(_, child)| child.target() == target) {
                return Some((at, place));
            }
            if !group.is_full() {
                break;
            }
        }
        None
    }

    /// The edge that leads to `target`, whose key is `key`.
    pub(super) fn get_mut(&mut self, key: Key, target: Target) -> Option<&mut Child> {
        let (at, place) = self.position(key, target)?;
        Some(&mut self.groups[at].children[place])
    }

    pub(super) fn remove(&mut self, key: Key, target: Target) {
        let Some((mut at, mut place)) = self.position(key, target) else {
            return;
        };
        self.len -= 1;
        // Fills the gap in a full group with what overflowed from it, and so on.
        let mut next = at;
        while self.groups[next].is_full() {
            next += 1;
            let mut edges = self.groups[next].edges();
            if let Some(from) = edges.position(|(hash, _)| self.home(hash) as usize <= at) {
                let (hash, child) =
                    (self.groups[next].hashes[from], self.groups[next].children[from]);
                self.groups[at].hashes[place] = hash;
                self.groups[at].children[place] = child;
                (at, place) = (next, from);
            }
        }
        let group = &mut self.groups[at];
        let last = group.len() - 1;
        group.hashes[place] = group.hashes[last];
        group.children[place] = group.children[last];
        group.children[last] = Child::NONE;
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.groups.len()
    }

    /// The most groups that one look-up may have to go through.
    #[cfg(test)]
    pub(super) fn longest(&self) -> usize {
        let full = self.groups.split(|group| !group.is_full());
        full.map(<[Group]>::len).max().unwrap_or(0) + 1
    }
}
