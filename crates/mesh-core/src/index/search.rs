use smallvec::SmallVec;

use super::FilterIndex;
use super::edges::Asked;
use super::key::{Child, ROOT, Target};
use super::records::NONE;
use super::symbol::{END, STAR, TAIL, tokens};
use super::tokens::{Guess, key};
use crate::subject::{Subject, matches_bytes};

impl<T> FilterIndex<T> {
    /// Visits every value whose filter matches `subject`, in no particular order.
    pub fn for_each_match<'a>(&'a self, subject: &Subject, mut visit: impl FnMut(&'a T)) {
        for record in self.matching(subject.as_str().as_bytes()) {
            for (value, _) in &self.records.at(record).values {
                visit(value);
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

    /// The records of the filters that match.
    ///
    /// What takes time is waiting for memory, so each step asks for all that it needs before it
    /// looks at any of it.
    fn matching(&self, subject: &[u8]) -> List<u32> {
        let exact = self.edges.ask(self.exact_key(subject));
        let mut hits = if self.nodes[ROOT as usize].records > 0 {
            self.wildcards(subject, exact)
        } else {
            List::new()
        };
        let mut record = self.first(exact);
        while record != NONE {
            let its = self.records.at(record);
            if self.texts.bytes(its.text) == subject {
                hits.push(record);
            }
            record = its.link;
        }
        hits
    }

    /// The first record that a filter without wildcards may have.
    fn first(&self, exact: Asked) -> u32 {
        match self.edges.answer(exact).map(Child::target) {
            Some(Target::Leaf(record)) => record,
            Some(Target::Node(_)) | None => NONE,
        }
    }

    /// Walks down the trie by the tokens' hashes, and sees then whether these are their symbols.
    ///
    /// Between the levels it begins to read what is looked at later, of the tokens and of the filter
    /// without wildcards: not needed for the answer, but then all waits fall together.
    fn wildcards(&self, subject: &[u8], exact: Asked) -> List<u32> {
        let mut asked = List::<(&[u8], Asked)>::new();
        let mut symbols = List::<Option<u32>>::new();
        for token in tokens(subject) {
            let hash = self.tokens.hashes().of(token);
            asked.push((token, self.edges.ask(key(hash))));
            symbols.push(Some(hash));
        }
        let mut search = Search::new(self, subject);
        let (mut record, mut text) = (NONE, None);
        search.walk(&symbols, |depth| {
            match depth {
                0 => record = self.first(exact),
                1 if record != NONE => text = Some(self.records.at(record).text),
                2 => text = text.inspect(|&text| self.texts.touch(text)),
                _ => {}
            }
            if let Some(&(_, asked)) = asked.get(depth) {
                self.tokens.touch(self.edges.answer(asked));
            }
        });
        let mut right = true;
        for (&(token, asked), symbol) in asked.iter().zip(&mut symbols) {
            if let Guess::Wrong(its) = self.tokens.check(self.edges.answer(asked), token) {
                *symbol = its;
                right = false;
            }
        }
        if !right {
            search = Search::new(self, subject);
            search.walk(&symbols, |_| {});
        }
        search.hits
    }
}

type List<V> = SmallVec<[V; 16]>;

struct Search<'a, T> {
    index: &'a FilterIndex<T>,
    subject: &'a [u8],
    /// The nodes that all tokens so far lead to.
    level: List<Child>,
    /// The look-ups for the next level.
    asked: List<Asked>,
    /// The records of filters that match.
    hits: List<u32>,
}

impl<'a, T> Search<'a, T> {
    fn new(index: &'a FilterIndex<T>, subject: &'a [u8]) -> Self {
        let mut level = List::new();
        level.push(index.root);
        Self { index, subject, level, asked: List::new(), hits: List::new() }
    }

    /// Goes down as far as there are nodes. Calls `meanwhile` where it would wait for each level.
    fn walk(&mut self, symbols: &[Option<u32>], mut meanwhile: impl FnMut(usize)) {
        let mut left = symbols.len() as u32;
        for (depth, symbol) in symbols.iter().enumerate() {
            for at in 0..self.level.len() {
                let node = self.level[at];
                if let Some(symbol) = *symbol {
                    self.ask(node, symbol);
                }
                self.ask(node, STAR);
                self.ask(node, TAIL);
            }
            left -= 1;
            meanwhile(depth);
            self.descend(left);
            if self.level.is_empty() {
                return;
            }
        }
        for at in 0..self.level.len() {
            self.ask(self.level[at], END);
        }
        self.descend(0);
    }

    #[inline]
    fn ask(&mut self, node: Child, symbol: u32) {
        if node.has(symbol) {
            self.asked.push(self.index.edges.ask(node.key(symbol)));
        }
    }

    /// Goes to the next level; so many tokens are left behind it.
    #[inline]
    fn descend(&mut self, left: u32) {
        self.level.clear();
        for &asked in &self.asked {
            let Some(child) = self.index.edges.answer(asked) else {
                continue;
            };
            match child.target() {
                Target::Node(_) => self.level.push(child),
                Target::Leaf(record) => {
                    let matches = child.rest().takes(left);
                    if matches.unwrap_or_else(|| self.text_matches(record)) {
                        self.hits.push(record);
                    }
                }
            }
        }
        self.asked.clear();
    }

    fn text_matches(&self, record: u32) -> bool {
        let text = self.index.records.at(record).text;
        matches_bytes(self.index.texts.bytes(text), self.subject)
    }
}
