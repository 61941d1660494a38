use std::fmt;
use std::sync::Arc;

use mesh_core::permissions::{Effect, Rule, Side};

/// One right of a user's, and what justifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Grant {
    /// Where it counts.
    pub side: Side,
    /// Whether it gives or takes.
    pub effect: Effect,
    /// What. A denied rule has no group.
    pub rule: Rule,
    /// What justifies it.
    pub because: Because,
}

/// What justifies a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "somebody wrote it, or the protocol says it")]
pub enum Because {
    /// A line that somebody wrote, in a manifest or in the mesh file.
    Line(Line),
    /// What the protocol gives to everybody of that kind, or takes from them, in words.
    Rule(&'static str),
}

/// A field of a file.
///
/// Shown as `file:line:column: field`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Line {
    /// The file, as it was named to the composer.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The field's path in the file, such as `emits[0]` or `people[1].tools[0]`.
    pub field: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.field)
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => line.fmt(f),
            Self::Rule(words) => f.write_str(words),
        }
    }
}
