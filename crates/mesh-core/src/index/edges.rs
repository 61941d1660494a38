use smallvec::SmallVec;

use super::key::{Child, FEW, Key, Mixer};
use super::symbol::is_token;

/// All edges of the trie: a hash table of groups, each as large as the piece of memory that a
/// processor reads at once.
///
/// A search asks for all the edges of a level before it looks at any answer: such look-ups don't
/// wait for each other, and waiting for memory is what a search among a million filters spends its
/// time on. That is why this is no `hashbrown` table.
#[derive(Debug, Clone)]
pub(super) struct Edges {
    /// Never full at the end.
    groups: Vec<Group>,
    /// How many of the groups are some hash's home; those behind them take what overflows.
    homes: u32,
    len: usize,
    mixer: Mixer,
}

/// Edges side by side from the front. If it is full, some that belong here may be in the next.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Group {
    keys: [u64; SIZE],
    children: [Child; SIZE],
}

const SIZE: usize = 5;

/// The most edges that two groups have on average: with more, too many groups are full.
const USUAL: usize = 7;

impl Group {
    const EMPTY: Self = Self { keys: [Key::UNUSED; SIZE], children: [Child::NONE; SIZE] };

    #[inline]
    fn is_full(&self) -> bool {
        self.keys[SIZE - 1] != Key::UNUSED
    }

    fn len(&self) -> usize {
        self.keys.iter().take_while(|&&key| key != Key::UNUSED).count()
    }

    fn edges(&self) -> impl Iterator<Item = (Key, Child)> + use<> {
        let edges = self.keys.map(Key::unpacked).into_iter().zip(self.children);
        edges.take(self.len())
    }

    /// Looks at all of them: which one it is can't be foretold.
    #[inline]
    fn find(&self, key: u64) -> Child {
        let mut found = Child::NONE;
        for (its, child) in self.keys.into_iter().zip(self.children) {
            if its == key {
                found = child;
            }
        }
        found
    }
}

/// A look-up on its way: the group where it begins is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    key: u64,
    group: u32,
    full: bool,
}

impl Edges {
    pub(super) fn new(mixer: Mixer) -> Self {
        Self::with_homes(mixer, 1)
    }

    fn with_homes(mixer: Mixer, homes: u32) -> Self {
        Self { groups: vec![Group::EMPTY; homes as usize + 1], homes, len: 0, mixer }
    }

    pub(super) fn mixer(&self) -> Mixer {
        self.mixer
    }

    #[inline]
    fn home(&self, key: Key) -> u32 {
        ((u64::from(key.hash(self.mixer)) * u64::from(self.homes)) >> 32) as u32
    }

    /// Begins to look for an edge.
    #[inline]
    pub(super) fn ask(&self, key: Key) -> Asked {
        let group = self.home(key);
        let full = self.groups[group as usize].is_full();
        Asked { key: key.packed(), group, full }
    }

    /// Where the edge asked for leads to.
    #[inline]
    pub(super) fn answer(&self, asked: Asked) -> Option<Child> {
        let mut full = asked.full;
        for group in &self.groups[asked.group as usize..] {
            let found = group.find(asked.key);
            if found != Child::NONE {
                return Some(found);
            }
            if !full {
                break;
            }
            full = group.is_full();
        }
        None
    }

    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<Child> {
        self.answer(self.ask(key))
    }

    pub(super) fn add(&mut self, key: Key, child: Child) {
        if self.len * 2 >= self.homes as usize * USUAL {
            let mut larger = Self::with_homes(self.mixer, self.homes + self.homes / 3 + 1);
            for (key, child) in self.groups.iter().flat_map(Group::edges) {
                larger.put(key, child);
            }
            *self = larger;
        }
        self.put(key, child);
    }

    fn put(&mut self, key: Key, child: Child) {
        let mut at = self.home(key) as usize;
        while self.groups[at].is_full() {
            at += 1;
        }
        let group = &mut self.groups[at];
        let free = group.len();
        group.keys[free] = key.packed();
        group.children[free] = child;
        self.len += 1;
        if at + 1 == self.groups.len() && self.groups[at].is_full() {
            self.groups.push(Group::EMPTY);
        }
    }

    /// The group and the place in it of an edge.
    fn position(&self, key: Key) -> Option<(usize, usize)> {
        for (at, group) in self.groups.iter().enumerate().skip(self.home(key) as usize) {
            if let Some(place) = group.keys.iter().position(|&its| its == key.packed()) {
                return Some((at, place));
            }
            if !group.is_full() {
                break;
            }
        }
        None
    }

    /// The edges under tokens of a node that has few.
    pub(super) fn few(&self, node: u32) -> SmallVec<[(Key, Child); FEW as usize]> {
        let mut found = SmallVec::new();
        let home = self.home(Key { parent: node, symbol: 0 });
        for group in &self.groups[home as usize..] {
            let edges = group.edges();
            found.extend(edges.filter(|(key, _)| key.parent == node && is_token(key.symbol)));
            if !group.is_full() {
                break;
            }
        }
        found
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Child> {
        let (at, place) = self.position(key)?;
        Some(&mut self.groups[at].children[place])
    }

    /// Leads an edge, new or old, to a child.
    pub(super) fn set(&mut self, key: Key, child: Child) {
        match self.get_mut(key) {
            Some(old) => *old = child,
            None => self.add(key, child),
        }
    }

    pub(super) fn remove(&mut self, key: Key) {
        let Some((mut at, mut place)) = self.position(key) else {
            return;
        };
        self.len -= 1;
        // Fills the gap in a full group with what overflowed from it, and so on.
        let mut next = at;
        while self.groups[next].is_full() {
            next += 1;
            let mut edges = self.groups[next].edges();
            if let Some(from) = edges.position(|(key, _)| self.home(key) as usize <= at) {
                let (key, child) = (self.groups[next].keys[from], self.groups[next].children[from]);
                self.groups[at].keys[place] = key;
                self.groups[at].children[place] = child;
                (at, place) = (next, from);
            }
        }
        let group = &mut self.groups[at];
        let last = group.len() - 1;
        group.keys[place] = group.keys[last];
        group.children[place] = group.children[last];
        group.keys[last] = Key::UNUSED;
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.groups.len()
    }

    /// The most groups that a look-up may have to go through, and how many it takes on average to
    /// find an edge.
    #[cfg(test)]
    pub(super) fn lengths(&self) -> (usize, f64) {
        let full = self.groups.split(|group| !group.is_full());
        let longest = full.map(<[Group]>::len).max().unwrap_or(0) + 1;
        let groups = self.groups.iter().enumerate();
        let steps = groups.flat_map(|(at, group)| {
            group.edges().map(move |(key, _)| at + 1 - self.home(key) as usize)
        });
        (longest, steps.sum::<usize>() as f64 / self.len as f64)
    }
}
