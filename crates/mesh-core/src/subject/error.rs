use std::fmt;

/// Why a text is not a subject, a filter or a binding pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {problem}")]
#[non_exhaustive]
pub struct SubjectError {
    /// `"subject"`, `"filter"` or `"binding pattern"`.
    pub kind: &'static str,
    /// What is wrong.
    pub problem: SubjectProblem,
}

/// What is wrong with a text that should have been a subject, a filter or a binding pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubjectProblem {
    /// The token that begins at this byte offset is empty.
    EmptyToken {
        /// Byte offset where the token should have begun.
        offset: usize,
    },
    /// White space or a control character.
    Character {
        /// The character.
        found: char,
        /// Its byte offset.
        offset: usize,
    },
    /// A `*` or `>` token in a subject, which names one address and not a set of them.
    Wildcard {
        /// Byte offset of the wildcard.
        offset: usize,
    },
    /// A `>` token that is not the last token of a filter.
    TailNotLast {
        /// Byte offset of the `>`.
        offset: usize,
    },
    /// More than [`MAX_SUBJECT_BYTES`](super::MAX_SUBJECT_BYTES).
    TooLong {
        /// The bytes found.
        found: usize,
    },
}

impl SubjectProblem {
    /// Byte offset in the text of what is wrong: of a text that is too long, the first byte too many.
    #[must_use]
    pub fn offset(&self) -> usize {
        match self {
            Self::EmptyToken { offset }
            | Self::Character { offset, .. }
            | Self::Wildcard { offset }
            | Self::TailNotLast { offset } => *offset,
            Self::TooLong { .. } => super::MAX_SUBJECT_BYTES,
        }
    }
}

impl fmt::Display for SubjectProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EmptyToken { offset } => write!(f, "empty token at offset {offset}"),
            Self::Character { found, offset } => {
                write!(f, "character {found:?} at offset {offset} is not allowed")
            }
            Self::Wildcard { offset } => write!(f, "wildcard at offset {offset}"),
            Self::TailNotLast { offset } => write!(f, "`>` at offset {offset} is not last"),
            Self::TooLong { found } => {
                write!(f, "{found} bytes long, at most {} are allowed", super::MAX_SUBJECT_BYTES)
            }
        }
    }
}
