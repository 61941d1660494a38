//! Which of very many filters match a subject.
//!
//! A [`FilterIndex`] holds values under filters and visits those whose filter matches. It is built
//! for a million filters: a match costs a walk over the filters' shared beginnings, not a scan.
//!
//! ```
//! use mesh_core::index::FilterIndex;
//! use mesh_core::subject::{Filter, Subject};
//!
//! let mut index = FilterIndex::new();
//! index.add(&Filter::new("mesh.events.mail.>")?, "mail")?;
//! let audit = index.add(&Filter::new("mesh.events.*.>")?, "audit")?;
//!
//! let subject = Subject::new("mesh.events.mail.letter.sent")?;
//! let mut found = index.matches(&subject);
//! found.sort();
//! assert_eq!(found, [&"audit", &"mail"]);
//!
//! assert_eq!(index.remove(audit), Some("audit"));
//! assert_eq!(index.matches(&subject), [&"mail"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod edges;
mod key;
mod records;
mod search;
mod symbol;
mod texts;
mod tokens;
mod update;

#[cfg(test)]
mod tests;

pub use records::EntryId;

use edges::Edges;
use key::{Child, Key, Mixer, ROOT};
use records::{NONE, Records};
use symbol::Hashes;
use texts::Texts;
use tokens::Tokens;

/// Values under filters, found by the subjects that the filters match.
///
/// - A filter may hold any number of values, equal ones too; each is visited.
/// - A match visits in no particular order.
/// - What a removal frees is used again by later additions, and an index that becomes empty gives
///   its memory back.
/// - Filters made to collide in its hashes slow a match down, at worst to a scan of them, and never
///   change its answer: it compares the texts of tokens. Nobody can make such who does not know the
///   [seed](Self::seeded).
///
/// How it works: a filter with a wildcard is a path of symbols (one for each token, one for each
/// wildcard, one for the end) through a trie whose edges all live in one hash table. The
/// path ends as soon as no other filter shares it: a leaf. A filter without wildcards is one leaf
/// under the hash of its whole text, and compared.
#[derive(Debug, Clone)]
pub struct FilterIndex<T> {
    records: Records<T>,
    texts: Texts,
    edges: Edges,
    nodes: Vec<Node>,
    /// The first; each one's `xor` is the next.
    vacant_node: u32,
    /// Leads to the first node, as an edge leads to any other.
    root: Child,
    tokens: Tokens,
}

/// A beginning that at least two filters share; the root may have fewer.
#[derive(Debug, Clone)]
struct Node {
    /// The edge that leads to it.
    key: Key,
    /// How many filters are below.
    records: u32,
    /// All of them, exclusive-ored: where one remains, this is it.
    xor: u32,
    /// How many of its edges are under tokens.
    tokens: u32,
}

impl Node {
    fn root() -> Self {
        Self { key: Key::NOWHERE, records: 0, xor: 0, tokens: 0 }
    }
}

/// There is no room for another value or filter: an index numbers 2²⁸ values, at least 2²⁷ filters'
/// texts, and 2²⁶ beginnings that filters share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the filter index is full")]
#[non_exhaustive]
pub struct IndexFull;

impl<T> FilterIndex<T> {
    /// An empty index that does the same in every run. Strangers who may choose its filters could choose
    /// such as collide: [`seeded`](Self::seeded) is for theirs.
    #[must_use]
    pub fn new() -> Self {
        Self::seeded(0)
    }

    /// An empty index whose hashes follow from `seed`: 64 random bits, made anew with each index, that
    /// nobody who chooses filters knows.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self::with_hashes(Hashes::seeded(seed), Mixer::seeded(seed))
    }

    fn with_hashes(hashes: Hashes, mixer: Mixer) -> Self {
        Self {
            records: Records::new(),
            texts: Texts::new(),
            edges: Edges::new(mixer),
            nodes: vec![Node::root()],
            vacant_node: NONE,
            root: Child::node(ROOT),
            tokens: Tokens::new(hashes),
        }
    }

    /// How many values it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Default for FilterIndex<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Appends, growing by a quarter: a doubling would leave up to half of a large index unused.
fn push<V>(vec: &mut Vec<V>, value: V) {
    if vec.len() == vec.capacity() {
        vec.reserve_exact(vec.len() / 4 + 4);
    }
    vec.push(value);
}
