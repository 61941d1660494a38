use std::hint::black_box;

use super::edges::Edges;
use super::key::{Child, Key, TOKENS, Target};
use super::push;
use super::records::NONE;
use super::symbol::Hashes;

/// The tokens under which there are edges, each with a symbol of its own, so that edges are told
/// apart by symbols and a token's text is compared once a match. They are found through the edges,
/// too.
///
/// Of the tokens of one hash one may have the hash as its symbol, and the others have numbers. So a
/// search may begin with the hashes, and see meanwhile whether they are the symbols.
#[derive(Debug, Clone)]
pub(super) struct Tokens {
    tokens: Vec<Token>,
    /// The first; each one's `link` is the next.
    vacant: u32,
    hashes: Hashes,
}

/// Half of what a processor reads at once.
#[derive(Debug, Clone)]
#[repr(align(32))]
struct Token {
    text: Text,
    /// How many edges there are under it.
    uses: u32,
    /// The next token of the same hash. The one whose symbol is the hash is the first.
    link: u32,
}

#[derive(Debug, Clone)]
enum Text {
    Short { len: u8, bytes: [u8; SHORT] },
    Long(Box<[u8]>),
}

const SHORT: usize = 22;

/// Set in symbols that are numbers, and in no hash.
const NUMBER: u32 = 1 << 31;

/// What a token's hash turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guess {
    /// Its symbol, or that of no token.
    Right,
    /// This is its symbol. `None`: it has none, and another may have its hash.
    Wrong(Option<u32>),
}

impl Text {
    fn new(text: &[u8]) -> Self {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..text.len()) {
            Some(start) => {
                start.copy_from_slice(text);
                Self::Short { len: text.len() as u8, bytes }
            }
            None => Self::Long(text.into()),
        }
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Short { len, bytes } => &bytes[..usize::from(*len)],
            Self::Long(bytes) => bytes,
        }
    }
}

impl Tokens {
    pub(super) fn new(hashes: Hashes) -> Self {
        Self { tokens: Vec::new(), vacant: NONE, hashes }
    }

    pub(super) fn hashes(&self) -> &Hashes {
        &self.hashes
    }

    /// The most that were there at once.
    pub(super) fn capacity(&self) -> usize {
        self.tokens.len()
    }

    /// Begins to read the token that may have this hash for its symbol.
    #[inline]
    pub(super) fn touch(&self, first: Option<Child>) {
        black_box(self.tokens.get(number(first) as usize).map(|token| token.uses));
    }

    /// Whether the hash of `text` is its symbol. `first` is what the edge under the hash leads to.
    #[inline]
    pub(super) fn check(&self, first: Option<Child>, text: &[u8]) -> Guess {
        match first {
            None => Guess::Right,
            Some(child) if child.is_plain() && self.has(number(first), text) => Guess::Right,
            Some(_) => Guess::Wrong(self.symbol_after(first, text)),
        }
    }

    /// The symbol of a token. `None`: no edge is under it.
    pub(super) fn symbol(&self, edges: &Edges, text: &[u8]) -> Option<u32> {
        let hash = self.hashes.of(text);
        let first = edges.get(key(hash))?;
        if first.is_plain() && self.has(number(Some(first)), text) {
            return Some(hash);
        }
        self.symbol_after(Some(first), text)
    }

    /// The symbol of a token that is a number.
    #[cold]
    fn symbol_after(&self, first: Option<Child>, text: &[u8]) -> Option<u32> {
        let mut at = number(first);
        while at != NONE && !self.has(at, text) {
            at = self.tokens[at as usize].link;
        }
        (at != NONE).then_some(NUMBER | at)
    }

    #[inline]
    fn has(&self, token: u32, text: &[u8]) -> bool {
        self.tokens[token as usize].text.bytes() == text
    }

    /// The symbol of a token, for one more edge.
    pub(super) fn take(&mut self, edges: &mut Edges, text: &[u8]) -> u32 {
        if let Some(symbol) = self.symbol(edges, text) {
            let at = Self::place(edges, symbol);
            self.tokens[at as usize].uses += 1;
            return symbol;
        }
        let hash = self.hashes.of(text);
        let first = edges.get(key(hash));
        match first {
            // The first stays the first.
            Some(child) if child.is_plain() => {
                let before = number(first);
                let link = self.tokens[before as usize].link;
                let at = self.add(Token { text: Text::new(text), uses: 1, link });
                self.tokens[before as usize].link = at;
                NUMBER | at
            }
            _ => {
                let token = Token { text: Text::new(text), uses: 1, link: number(first) };
                let child = Child::token(self.add(token), true);
                edges.set(key(hash), child);
                hash
            }
        }
    }

    fn add(&mut self, token: Token) -> u32 {
        if self.vacant == NONE {
            push(&mut self.tokens, token);
            (self.tokens.len() - 1) as u32
        } else {
            let at = self.vacant;
            self.vacant = self.tokens[at as usize].link;
            self.tokens[at as usize] = token;
            at
        }
    }

    /// There is one edge less under a token.
    pub(super) fn give_back(&mut self, edges: &mut Edges, symbol: u32) {
        let at = Self::place(edges, symbol);
        let token = &mut self.tokens[at as usize];
        token.uses -= 1;
        if token.uses > 0 {
            return;
        }
        let link = std::mem::replace(&mut token.link, self.vacant);
        self.vacant = at;
        let text = std::mem::replace(&mut token.text, Text::new(b""));
        let key = key(self.hashes.of(text.bytes()));
        let first = number(edges.get(key));
        if first != at {
            let mut before = first;
            while self.tokens[before as usize].link != at {
                before = self.tokens[before as usize].link;
            }
            self.tokens[before as usize].link = link;
        } else if link == NONE {
            edges.remove(key);
        } else {
            edges.set(key, Child::token(link, false));
        }
    }

    /// The number of the token with this symbol.
    fn place(edges: &Edges, symbol: u32) -> u32 {
        if symbol & NUMBER == 0 { number(edges.get(key(symbol))) } else { symbol & !NUMBER }
    }

    /// How many edges there are under each.
    #[cfg(test)]
    pub(super) fn uses(&self) -> Vec<u32> {
        self.tokens.iter().map(|token| token.uses).collect()
    }
}

/// What the first token of a hash is found under.
#[inline]
pub(super) fn key(hash: u32) -> Key {
    Key { parent: TOKENS, symbol: hash }
}

#[inline]
fn number(child: Option<Child>) -> u32 {
    match child.map(Child::target) {
        Some(Target::Leaf(at)) => at,
        Some(Target::Node(_)) | None => NONE,
    }
}
