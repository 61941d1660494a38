use std::hint::black_box;
use std::ops::Range;

use smallvec::SmallVec;

use super::FilterIndex;
use super::edges::Asked;
use super::key::{Child, EXACT, Key, ROOT, Target};
use super::records::NONE;
use super::symbol::{END, STAR, TAIL};
use super::texts::TextRef;
use crate::subject::{Subject, matches_bytes};

impl<T> FilterIndex<T> {
    /// Visits every value whose filter matches `subject`, in no particular order.
    pub fn for_each_match<'a>(&'a self, subject: &Subject, mut visit: impl FnMut(&'a T)) {
        let text = subject.as_str().as_bytes();
        for (record, filter) in self.candidates(text) {
            let record = self.records.at(record);
            if matches_bytes(self.texts.bytes(filter), text) {
                for (value, _) in &record.values {
                    visit(value);
                }
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

    /// The filters whose symbols match the subject's.
    ///
    /// What takes time is waiting for memory, so each step asks for all that it needs before it
    /// looks at any of it.
    fn candidates(&self, subject: &[u8]) -> List<(u32, TextRef)> {
        let mut search = Search::new(self);
        search.ask(EXACT, self.symbols.of(subject));
        for token in subject.split(|&byte| byte == b'.') {
            let symbol = self.symbols.of(token);
            for at in search.level.clone() {
                let (node, child) = search.nodes[at];
                search.ask(node, symbol);
                for special in [STAR, TAIL] {
                    if child.has(special) {
                        search.ask(node, special);
                    }
                }
            }
            search.descend();
            if search.level.is_empty() {
                return search.finish();
            }
        }
        for at in search.level.clone() {
            let (node, child) = search.nodes[at];
            if child.has(END) {
                search.ask(node, END);
            }
        }
        search.descend();
        search.finish()
    }
}

type List<V> = SmallVec<[V; 16]>;

/// A walk down the trie, one level at a time.
struct Search<'a, T> {
    index: &'a FilterIndex<T>,
    /// The nodes met so far.
    nodes: List<(u32, Child)>,
    /// Those of them that all tokens so far lead to.
    level: Range<usize>,
    /// The look-ups for the next level.
    asked: List<Asked>,
    /// The leaves met so far, by their first records.
    leaves: List<u32>,
}

impl<'a, T> Search<'a, T> {
    fn new(index: &'a FilterIndex<T>) -> Self {
        let mut nodes = List::new();
        if index.nodes[ROOT as usize].records > 0 {
            nodes.push((ROOT, index.root));
        }
        Self { index, level: 0..nodes.len(), nodes, asked: List::new(), leaves: List::new() }
    }

    #[inline]
    fn ask(&mut self, parent: u32, symbol: u32) {
        let hash = Key { parent, symbol }.hash();
        self.asked.push(self.index.edges.ask(hash));
    }

    fn descend(&mut self) {
        let start = self.nodes.len();
        for &asked in &self.asked {
            self.index.edges.answer(asked, |child| match child.target() {
                Target::Node(node) => self.nodes.push((node, child)),
                Target::Leaf(record) => self.leaves.push(record),
            });
        }
        self.asked.clear();
        self.level = start..self.nodes.len();
    }

    fn finish(mut self) -> List<(u32, TextRef)> {
        let (records, texts) = (&self.index.records, &self.index.texts);
        let mut found = List::new();
        let mut at = 0;
        while let Some(&id) = self.leaves.get(at) {
            let record = records.at(id);
            found.push((id, record.text));
            if record.link != NONE {
                self.leaves.push(record.link);
            }
            at += 1;
        }
        // Not needed for the answer: it makes the texts come, all at once.
        let touched = found.iter().map(|&(_, text)| texts.touch(text));
        black_box(touched.fold(0, |sum, byte| sum ^ byte));
        found
    }
}
