use super::edges::{Child, EXACT, Key, LIMIT, Node, ROOT};
use super::entries::{EntryId, NONE};
use super::symbol::{END, Symbols};
use super::{FilterIndex, IndexFull, push};
use crate::subject::{Filter, MAX_SUBJECT_BYTES};

impl<T> FilterIndex<T> {
    /// Puts `value` under `filter`, beside what is there already.
    ///
    /// # Errors
    /// [`IndexFull`]; the index is as before.
    pub fn add(&mut self, filter: &Filter, value: T) -> Result<EntryId, IndexFull> {
        if self.entries.slots() >= LIMIT || self.nodes.len() >= LIMIT - MAX_SUBJECT_BYTES {
            return Err(IndexFull);
        }
        let text = filter.as_str().as_bytes();
        if let Some(head) = self.head_of(text, filter.has_wildcard()) {
            let id = self.entries.add(value, self.entries.at(head).text());
            let next = std::mem::replace(&mut self.entries.at_mut(head).next, id);
            let entry = self.entries.at_mut(id);
            (entry.head, entry.link, entry.next) = (false, head, next);
            if next != NONE {
                self.entries.at_mut(next).link = id;
            }
            return Ok(EntryId(id));
        }
        let id = self
            .entries
            .add(value, self.texts.add(text).ok_or(IndexFull)?);
        if filter.has_wildcard() {
            self.insert(id, text);
        } else {
            self.join_leaf(self.exact_key(text), id);
        }
        Ok(EntryId(id))
    }

    /// Takes out the value that [`add`](Self::add) gave this id to. `None`: it is no id of this
    /// index.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "an id is good for one removal"
    )]
    pub fn remove(&mut self, id: EntryId) -> Option<T> {
        let EntryId(id) = id;
        if !self.entries.holds(id) {
            return None;
        }
        let (head, next, link) = {
            let entry = self.entries.at(id);
            (entry.head, entry.next, entry.link)
        };
        if !head {
            self.entries.at_mut(link).next = next;
            if next != NONE {
                self.entries.at_mut(next).link = link;
            }
        } else if next != NONE {
            self.succeed(id, next);
        } else {
            self.texts.remove(self.entries.at(id).text());
            self.take_out(id);
        }
        let value = self.entries.remove(id);
        if self.is_empty() {
            *self = Self::with_symbols(self.symbols);
        }
        value
    }

    fn exact_key(&self, text: &[u8]) -> Key {
        Key {
            parent: EXACT,
            symbol: self.symbols.of(text),
        }
    }

    fn child(&self, key: Key) -> Option<Child> {
        self.edges.find(key, &self.nodes, &self.entries)
    }

    /// The head of the list of the filter with this text.
    fn head_of(&self, text: &[u8], wildcard: bool) -> Option<u32> {
        let mut leaf = None;
        if wildcard {
            let mut parent = ROOT;
            for symbol in self.symbols.path(text) {
                match self.child(Key { parent, symbol })?.get() {
                    Ok(node) => parent = node,
                    Err(head) => {
                        leaf = Some(head);
                        break;
                    }
                }
            }
        } else {
            leaf = self.child(self.exact_key(text))?.get().err();
        }
        let mut head = leaf?;
        while self.texts.bytes(self.entries.at(head).text()) != text {
            head = self.entries.at(head).link;
            if head == NONE {
                return None;
            }
        }
        Some(head)
    }

    /// Leads the path of a new head to a leaf, splitting the one that is in its way.
    fn insert(&mut self, id: u32, text: &[u8]) {
        let symbols: Symbols = self.symbols;
        let mut parent = ROOT;
        self.count(ROOT, id);
        for (depth, symbol) in symbols.path(text).enumerate() {
            let key = Key { parent, symbol };
            match self.child(key).map(Child::get) {
                Some(Ok(node)) => {
                    self.count(node, id);
                    parent = node;
                }
                Some(Err(head)) if !key.is_complete() => {
                    parent = self.split(head, depth);
                    self.count(parent, id);
                }
                _ => {
                    self.join_leaf(key, id);
                    return;
                }
            }
        }
    }

    fn count(&mut self, node: u32, id: u32) {
        let node = &mut self.nodes[node as usize];
        node.heads += 1;
        node.xor ^= id;
    }

    /// Puts a head into the leaf under `key`, new or old.
    fn join_leaf(&mut self, key: Key, id: u32) {
        self.entries.at_mut(id).key = key;
        if let Some(Err(first)) = self.child(key).map(Child::get) {
            let link = std::mem::replace(&mut self.entries.at_mut(first).link, id);
            self.entries.at_mut(id).link = link;
            return;
        }
        if let Some(node) = self.nodes.get_mut(key.parent as usize) {
            node.mark(key.symbol);
        }
        self.edges.add(Child::leaf(id), &self.nodes, &self.entries);
    }

    /// Puts a node in the place of the leaf at this depth, and the leaf below it.
    fn split(&mut self, head: u32, depth: usize) -> u32 {
        let key = self.entries.at(head).key;
        let new = Node::new(key, 1, head);
        let node = if self.vacant_node == NONE {
            push(&mut self.nodes, new);
            (self.nodes.len() - 1) as u32
        } else {
            let node = self.vacant_node;
            self.vacant_node = self.nodes[node as usize].xor;
            self.nodes[node as usize] = new;
            node
        };
        self.edges
            .replace(key, Child::leaf(head), Child::node(node));
        let text = self.texts.bytes(self.entries.at(head).text());
        let symbol = self.symbols.path(text).nth(depth + 1).unwrap_or(END);
        self.join_leaf(
            Key {
                parent: node,
                symbol,
            },
            head,
        );
        node
    }

    /// Puts the second entry of a list in the place of its head.
    fn succeed(&mut self, old: u32, new: u32) {
        let (key, link) = (self.entries.at(old).key, self.entries.at(old).link);
        let entry = self.entries.at_mut(new);
        (entry.head, entry.key, entry.link) = (true, key, link);
        self.relink(key, old, new);
        let mut parent = key.parent;
        while let Some(node) = self.nodes.get_mut(parent as usize) {
            node.xor ^= old ^ new;
            parent = node.key.parent;
        }
    }

    /// Lets what leads to the head `old` in its leaf lead to `new`.
    fn relink(&mut self, key: Key, old: u32, new: u32) {
        let Some(Err(mut before)) = self.child(key).map(Child::get) else {
            return;
        };
        if before == old {
            self.edges.replace(key, Child::leaf(old), Child::leaf(new));
            return;
        }
        while self.entries.at(before).link != old {
            before = self.entries.at(before).link;
        }
        self.entries.at_mut(before).link = new;
    }

    /// Takes the last head of a filter out of the trie.
    fn take_out(&mut self, id: u32) {
        let (key, link) = (self.entries.at(id).key, self.entries.at(id).link);
        let alone = self.child(key) == Some(Child::leaf(id)) && link == NONE;
        if alone {
            self.edges.remove(key, Child::leaf(id));
            if let Some(node) = self.nodes.get_mut(key.parent as usize) {
                node.unmark(key.symbol);
            }
        } else {
            self.relink(key, id, link);
        }
        let mut at = key.parent;
        while let Some(node) = self.nodes.get_mut(at as usize) {
            node.heads -= 1;
            node.xor ^= id;
            let parent = node.key.parent;
            if node.heads == 1 && at != ROOT {
                self.merge(at);
            }
            at = parent;
        }
    }

    /// Puts the one leaf that is left below a node in the node's place.
    fn merge(&mut self, node: u32) {
        let Node { key, xor: head, .. } = self.nodes[node as usize];
        self.edges
            .remove(self.entries.at(head).key, Child::leaf(head));
        self.entries.at_mut(head).key = key;
        self.edges
            .replace(key, Child::node(node), Child::leaf(head));
        self.nodes[node as usize].xor = self.vacant_node;
        self.vacant_node = node;
    }
}
