use smallvec::SmallVec;

use super::FilterIndex;
use super::edges::{EXACT, Key, ROOT};
use super::entries::NONE;
use super::symbol::{END, STAR, TAIL};
use crate::subject::{Subject, matches_bytes};

impl<T> FilterIndex<T> {
    /// Visits every value whose filter matches `subject`, in no particular order.
    pub fn for_each_match<'a>(&'a self, subject: &Subject, mut visit: impl FnMut(&'a T)) {
        let text = subject.as_str().as_bytes();
        let exact = Key {
            parent: EXACT,
            symbol: self.symbols.of(text),
        };
        self.step(exact, text, &mut visit);
        if self.nodes[ROOT as usize].heads == 0 {
            return;
        }
        // The nodes that the tokens so far lead to, one level at a time: the look-ups of a level
        // don't wait for each other.
        let mut level = SmallVec::<[u32; 16]>::from_slice(&[ROOT]);
        let mut below = SmallVec::<[u32; 16]>::new();
        for token in text.split(|&byte| byte == b'.') {
            let symbol = self.symbols.of(token);
            for &parent in &level {
                let node = &self.nodes[parent as usize];
                if node.has(TAIL) {
                    let symbol = TAIL;
                    self.step(Key { parent, symbol }, text, &mut visit);
                }
                if node.has(STAR) {
                    let symbol = STAR;
                    below.extend(self.step(Key { parent, symbol }, text, &mut visit));
                }
                below.extend(self.step(Key { parent, symbol }, text, &mut visit));
            }
            level.clear();
            std::mem::swap(&mut level, &mut below);
            if level.is_empty() {
                return;
            }
        }
        for &parent in &level {
            if self.nodes[parent as usize].has(END) {
                let symbol = END;
                self.step(Key { parent, symbol }, text, &mut visit);
            }
        }
    }

    /// The values whose filters match `subject`, in no particular order.
    #[must_use]
    pub fn matches(&self, subject: &Subject) -> Vec<&T> {
        let mut found = Vec::new();
        self.for_each_match(subject, |value| found.push(value));
        found
    }

    /// The node that `key` leads to; where it leads to a leaf, visits what matches there.
    #[inline]
    fn step<'a>(&'a self, key: Key, subject: &[u8], visit: &mut impl FnMut(&'a T)) -> Option<u32> {
        let child = self.edges.find(key, &self.nodes, &self.entries)?;
        let mut head = match child.get() {
            Ok(node) => return Some(node),
            Err(head) => head,
        };
        while head != NONE {
            let first = self.entries.at(head);
            let filter = self.texts.bytes(first.text());
            if matches_bytes(filter, subject) {
                let mut entry = first;
                loop {
                    if let Some(value) = &entry.value {
                        visit(value);
                    }
                    if entry.next == NONE {
                        break;
                    }
                    entry = self.entries.at(entry.next);
                }
            }
            head = first.link;
        }
        None
    }
}
