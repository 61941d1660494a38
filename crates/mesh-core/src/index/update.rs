use super::key::{Child, EXACT, Key, LIMIT, ROOT, Target};
use super::records::{EntryId, NONE};
use super::symbol::END;
use super::{FilterIndex, IndexFull, Node, push};
use crate::subject::{Filter, MAX_SUBJECT_BYTES};

impl<T> FilterIndex<T> {
    /// Puts `value` under `filter`, beside what is there already.
    ///
    /// # Errors
    /// [`IndexFull`]; the index is as before.
    pub fn add(&mut self, filter: &Filter, value: T) -> Result<EntryId, IndexFull> {
        if self.records.places() >= LIMIT || self.nodes.len() >= LIMIT - MAX_SUBJECT_BYTES {
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
                    self.join_leaf(self.exact_key(text), record);
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
            *self = Self::with_symbols(self.symbols);
        } else if self.records.at(record).values.is_empty() {
            self.texts.remove(self.records.at(record).text);
            self.take_out(record);
            self.records.remove(record);
        }
        Some(value)
    }

    fn exact_key(&self, text: &[u8]) -> Key {
        Key { parent: EXACT, symbol: self.symbols.of(text) }
    }

    fn find(&self, key: Key) -> Option<Target> {
        let mut found = None;
        self.edges.answer(self.edges.ask(key.hash()), |child| {
            let target = child.target();
            let its = match target {
                Target::Node(node) => self.nodes[node as usize].key,
                Target::Leaf(record) => self.records.key(record),
            };
            if its == key {
                found = Some(target);
            }
        });
        found
    }

    fn find_leaf(&self, key: Key) -> Option<u32> {
        match self.find(key)? {
            Target::Leaf(record) => Some(record),
            Target::Node(_) => None,
        }
    }

    /// The record of the filter with this text.
    fn record_of(&self, text: &[u8], wildcard: bool) -> Option<u32> {
        let mut record = NONE;
        if wildcard {
            let mut parent = ROOT;
            for symbol in self.symbols.path(text) {
                match self.find(Key { parent, symbol })? {
                    Target::Node(node) => parent = node,
                    Target::Leaf(first) => {
                        record = first;
                        break;
                    }
                }
            }
        } else {
            record = self.find_leaf(self.exact_key(text))?;
        }
        while record != NONE && self.texts.bytes(self.records.at(record).text) != text {
            record = self.records.at(record).link;
        }
        (record != NONE).then_some(record)
    }

    /// Leads the path of a new record to a leaf, splitting the one that is in its way.
    fn insert(&mut self, record: u32, text: &[u8]) {
        let mut parent = ROOT;
        self.count(ROOT, record);
        for (depth, symbol) in self.symbols.path(text).enumerate() {
            let key = Key { parent, symbol };
            parent = match self.find(key) {
                Some(Target::Node(node)) => node,
                Some(Target::Leaf(first)) if !key.is_complete() => self.split(first, depth),
                _ => {
                    self.join_leaf(key, record);
                    return;
                }
            };
            self.count(parent, record);
        }
    }

    fn count(&mut self, node: u32, record: u32) {
        let node = &mut self.nodes[node as usize];
        node.records += 1;
        node.xor ^= record;
    }

    /// Puts a record into the leaf under `key`, new or old.
    fn join_leaf(&mut self, key: Key, record: u32) {
        self.records.set_key(record, key);
        if let Some(first) = self.find_leaf(key) {
            let link = std::mem::replace(&mut self.records.at_mut(first).link, record);
            self.records.at_mut(record).link = link;
        } else {
            self.edges.add(key, Child::leaf(record));
            self.mark(key, true);
        }
    }

    /// Tells the node above an edge whether it has one under this symbol.
    fn mark(&mut self, Key { parent, symbol }: Key, has: bool) {
        if parent == ROOT {
            self.root.mark(symbol, has);
        } else if let Some(node) = self.nodes.get(parent as usize)
            && let Some(child) = self.edges.get_mut(node.key, Target::Node(parent))
        {
            child.mark(symbol, has);
        }
    }

    /// Puts a node in the place of the leaf at this depth, and the leaf below it.
    fn split(&mut self, record: u32, depth: usize) -> u32 {
        let key = self.records.key(record);
        let new = Node { key, records: 1, xor: record };
        let node = if self.vacant_node == NONE {
            push(&mut self.nodes, new);
            (self.nodes.len() - 1) as u32
        } else {
            let node = self.vacant_node;
            self.vacant_node = self.nodes[node as usize].xor;
            self.nodes[node as usize] = new;
            node
        };
        if let Some(child) = self.edges.get_mut(key, Target::Leaf(record)) {
            *child = Child::node(node);
        }
        let text = self.texts.bytes(self.records.at(record).text);
        let symbol = self.symbols.path(text).nth(depth + 1).unwrap_or(END);
        let parent = node;
        self.join_leaf(Key { parent, symbol }, record);
        node
    }

    /// Takes a record out of the trie.
    fn take_out(&mut self, record: u32) {
        let (key, link) = (self.records.key(record), self.records.at(record).link);
        match self.find_leaf(key) {
            Some(first) if first != record => {
                let mut before = first;
                while self.records.at(before).link != record {
                    before = self.records.at(before).link;
                }
                self.records.at_mut(before).link = link;
            }
            _ if link == NONE => {
                self.edges.remove(key, Target::Leaf(record));
                self.mark(key, false);
            }
            _ => {
                if let Some(child) = self.edges.get_mut(key, Target::Leaf(record)) {
                    *child = Child::leaf(link);
                }
            }
        }
        let mut at = key.parent;
        while let Some(node) = self.nodes.get_mut(at as usize) {
            node.records -= 1;
            node.xor ^= record;
            let parent = node.key.parent;
            if node.records == 1 && at != ROOT {
                self.merge(at);
            }
            at = parent;
        }
    }

    /// Puts the one leaf that is left below a node in the node's place.
    fn merge(&mut self, node: u32) {
        let Node { key, xor: record, .. } = self.nodes[node as usize];
        self.edges.remove(self.records.key(record), Target::Leaf(record));
        self.records.set_key(record, key);
        if let Some(child) = self.edges.get_mut(key, Target::Node(node)) {
            *child = Child::leaf(record);
        }
        self.nodes[node as usize].xor = self.vacant_node;
        self.vacant_node = node;
    }
}
