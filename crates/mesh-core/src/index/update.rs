use super::key::{Child, EXACT, FEW, Key, LIMIT, NODES, ROOT, Rest, Target};
use super::records::{EntryId, NONE};
use super::symbol::{END, Step, is_token, path};
use super::{FilterIndex, IndexFull, Node, push};
use crate::subject::{Filter, MAX_SUBJECT_BYTES};

impl<T> FilterIndex<T> {
    /// Puts `value` under `filter`, beside what is there already.
    ///
    /// # Errors
    /// [`IndexFull`]; the index is as before.
    pub fn add(&mut self, filter: &Filter, value: T) -> Result<EntryId, IndexFull> {
        if self.records.places() >= LIMIT
            || self.tokens.capacity() >= LIMIT - MAX_SUBJECT_BYTES
            || self.nodes.len() >= NODES - MAX_SUBJECT_BYTES
        {
            return Err(IndexFull);
        }
        let text = filter.as_str().as_bytes();
        let record = match self.record_of(text, filter.has_wildcard()) {
            Some(record) => record,
            None => {
                let record = self.records.add(self.texts.add(text).ok_or(IndexFull)?);
                if filter.has_wildcard() {
                    self.insert(record, text);
                } else {
                    self.insert_exact(record, text);
                }
                record
            }
        };
        Ok(self.records.add_value(record, value))
    }

    /// Takes out the value that [`add`](Self::add) gave this id to. `None`: it is no id of this
    /// index.
    #[expect(clippy::needless_pass_by_value, reason = "an id is good for one removal")]
    pub fn remove(&mut self, id: EntryId) -> Option<T> {
        let (value, record) = self.records.remove_value(&id)?;
        if self.is_empty() {
            *self = Self::with_hashes(self.tokens.hashes().clone(), self.edges.mixer());
        } else if self.records.at(record).values.is_empty() {
            self.texts.remove(self.records.at(record).text);
            if self.records.key(record).parent == EXACT {
                self.take_out_exact(record);
            } else {
                self.take_out(record);
            }
            self.records.remove(record);
        }
        Some(value)
    }

    #[inline]
    pub(super) fn exact_key(&self, text: &[u8]) -> Key {
        Key { parent: EXACT, symbol: self.tokens.hashes().of(text) }
    }

    fn find(&self, key: Key) -> Option<Target> {
        self.edges.get(key).map(Child::target)
    }

    /// The record of the filter with this text.
    fn record_of(&self, text: &[u8], wildcard: bool) -> Option<u32> {
        let mut record = if wildcard { self.leaf_on(text)? } else { self.first_exact(text)? };
        while record != NONE && self.texts.bytes(self.records.at(record).text) != text {
            record = self.records.at(record).link;
        }
        (record != NONE).then_some(record)
    }

    fn first_exact(&self, text: &[u8]) -> Option<u32> {
        match self.find(self.exact_key(text))? {
            Target::Leaf(record) => Some(record),
            Target::Node(_) => None,
        }
    }

    /// The leaf where the path of a filter with a wildcard ends.
    fn leaf_on(&self, text: &[u8]) -> Option<u32> {
        let mut at = self.root;
        for step in path(text) {
            at = self.edges.get(at.key(self.known(step)?))?;
            if let Target::Leaf(record) = at.target() {
                return Some(record);
            }
        }
        None
    }

    /// The symbol of a step. `None`: no edge is under it.
    fn known(&self, step: Step<'_>) -> Option<u32> {
        match step {
            Step::Token(token) => self.tokens.symbol(&self.edges, token),
            Step::Special(symbol) => Some(symbol),
        }
    }

    fn insert_exact(&mut self, record: u32, text: &[u8]) {
        let key = self.exact_key(text);
        self.records.set_key(record, key);
        match self.first_exact(text) {
            Some(first) => {
                let link = std::mem::replace(&mut self.records.at_mut(first).link, record);
                self.records.at_mut(record).link = link;
            }
            None => self.edges.add(key, Child::leaf(record, Rest::NONE)),
        }
    }

    /// Leads the path of a new record to a leaf, splitting the one that is in its way.
    fn insert(&mut self, record: u32, text: &[u8]) {
        let (mut at, mut node) = (self.root, ROOT);
        for (depth, step) in path(text).enumerate() {
            self.count(node, record);
            let known = self.known(step);
            let Some(child) = known.and_then(|symbol| self.edges.get(at.key(symbol))) else {
                self.add_leaf(node, record, depth);
                return;
            };
            (at, node) = match child.target() {
                Target::Node(node) => (child, node),
                Target::Leaf(first) => {
                    let node = self.split(first, depth);
                    (Child::node(node), node)
                }
            };
        }
    }

    fn count(&mut self, node: u32, record: u32) {
        let node = &mut self.nodes[node as usize];
        node.records += 1;
        node.xor ^= record;
    }

    /// Puts a leaf below a node, under the step at this depth of the record's path.
    fn add_leaf(&mut self, node: u32, record: u32, depth: usize) {
        let text = self.texts.bytes(self.records.at(record).text);
        let mut steps = path(text).skip(depth);
        let symbol = match steps.next() {
            Some(Step::Token(token)) => self.tokens.take(&mut self.edges, token),
            Some(Step::Special(symbol)) => symbol,
            None => END,
        };
        let leaf = Child::leaf(record, Rest::of(steps));
        if is_token(symbol) {
            self.nodes[node as usize].tokens += 1;
            self.spread(node);
        }
        let mut key = Key::NOWHERE;
        if let Some(child) = self.edge_to(node) {
            child.mark(symbol, true);
            key = child.key(symbol);
        }
        self.edges.add(key, leaf);
        self.records.set_key(record, key);
    }

    /// Takes away the edge of a leaf below a node.
    fn remove_leaf(&mut self, record: u32) {
        let key = self.records.key(record);
        self.edges.remove(key);
        let mut has = false;
        if is_token(key.symbol) {
            self.tokens.give_back(&mut self.edges, key.symbol);
            let node = &mut self.nodes[key.node() as usize];
            node.tokens -= 1;
            has = node.tokens > 0;
        }
        if let Some(child) = self.edge_to(key.node()) {
            child.mark(key.symbol, has);
            if is_token(key.symbol) && !has {
                child.spread(false);
            }
        }
    }

    fn edge_to(&mut self, node: u32) -> Option<&mut Child> {
        match node {
            ROOT => Some(&mut self.root),
            node => self.edges.get_mut(self.nodes[node as usize].key),
        }
    }

    /// If a node has more than a few tokens, puts its edges under them where many have room.
    fn spread(&mut self, node: u32) {
        let many = self.nodes[node as usize].tokens > FEW;
        let Some(child) = self.edge_to(node).filter(|child| many && !child.is_spread()) else {
            return;
        };
        child.spread(true);
        let child = *child;
        for (old, below) in self.edges.few(node) {
            let key = child.key(old.symbol);
            self.edges.remove(old);
            self.edges.add(key, below);
            match below.target() {
                Target::Node(node) => self.nodes[node as usize].key = key,
                Target::Leaf(record) => self.records.set_key(record, key),
            }
        }
    }

    /// Puts a node in the place of the leaf at this depth, and the leaf below it.
    fn split(&mut self, record: u32, depth: usize) -> u32 {
        let key = self.records.key(record);
        let new = Node { key, records: 1, xor: record, tokens: 0 };
        let node = if self.vacant_node == NONE {
            push(&mut self.nodes, new);
            (self.nodes.len() - 1) as u32
        } else {
            let node = self.vacant_node;
            self.vacant_node = self.nodes[node as usize].xor;
            self.nodes[node as usize] = new;
            node
        };
        if let Some(child) = self.edges.get_mut(key) {
            *child = Child::node(node);
        }
        self.add_leaf(node, record, depth + 1);
        node
    }

    fn take_out_exact(&mut self, record: u32) {
        let (key, link) = (self.records.key(record), self.records.at(record).link);
        match self.find(key) {
            Some(Target::Leaf(first)) if first != record => {
                let mut before = first;
                while self.records.at(before).link != record {
                    before = self.records.at(before).link;
                }
                self.records.at_mut(before).link = link;
            }
            _ if link == NONE => self.edges.remove(key),
            _ => {
                if let Some(child) = self.edges.get_mut(key) {
                    *child = Child::leaf(link, Rest::NONE);
                }
            }
        }
    }

    /// Takes a record out of the trie.
    fn take_out(&mut self, record: u32) {
        let mut at = self.records.key(record).node();
        self.remove_leaf(record);
        while let Some(node) = self.nodes.get_mut(at as usize) {
            node.records -= 1;
            node.xor ^= record;
            let parent = node.key.node();
            if node.records == 1 && at != ROOT {
                self.merge(at);
            }
            at = parent;
        }
    }

    /// Puts the one leaf that is left below a node in the node's place.
    fn merge(&mut self, node: u32) {
        let Node { key, xor: record, .. } = self.nodes[node as usize];
        self.remove_leaf(record);
        self.records.set_key(record, key);
        let mut depth = 0;
        let mut above = key.node();
        while above != ROOT {
            depth += 1;
            above = self.nodes[above as usize].key.node();
        }
        let text = self.texts.bytes(self.records.at(record).text);
        let rest = Rest::of(path(text).skip(depth + 1));
        if let Some(child) = self.edges.get_mut(key) {
            *child = Child::leaf(record, rest);
        }
        self.nodes[node as usize].xor = self.vacant_node;
        self.vacant_node = node;
    }
}
