use std::fmt;

/// Why a text is not a name of the kind asked for.
///
/// Says which kind of name was wanted and what is wrong with the text; never the text itself,
/// which came from outside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {problem}")]
#[non_exhaustive]
pub struct NameError {
    /// What was wanted: `"module name"`, `"event name"`, …
    pub kind: &'static str,
    /// What is wrong.
    pub problem: NameProblem,
}

/// What is wrong with a text that should have been a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameProblem {
    /// Nothing there, or an empty token or label beginning at this byte offset.
    Empty {
        /// Byte offset of the empty part.
        offset: usize,
    },
    /// More bytes than the grammar allows.
    TooLong {
        /// The most bytes allowed.
        max: usize,
        /// The bytes found.
        found: usize,
    },
    /// A character that may not stand where it stands.
    Character {
        /// The character.
        found: char,
        /// Its byte offset.
        offset: usize,
    },
    /// A name that the mesh keeps for itself.
    Reserved,
}

impl NameProblem {
    /// Byte offset in the text of what is wrong: of a text that is too long, the first byte too many.
    /// A bound on something that the text is made into does not say which that is.
    #[must_use]
    pub fn offset(&self) -> usize {
        match self {
            Self::Empty { offset } | Self::Character { offset, .. } => *offset,
            Self::TooLong { max, .. } => *max,
            Self::Reserved => 0,
        }
    }
}

impl fmt::Display for NameProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { offset } => write!(f, "nothing at offset {offset}"),
            Self::TooLong { max, found } => {
                write!(f, "{found} bytes long, at most {max} are allowed")
            }
            Self::Character { found, offset } => {
                write!(f, "character {found:?} at offset {offset} is not allowed")
            }
            Self::Reserved => f.write_str("reserved by the mesh"),
        }
    }
}
