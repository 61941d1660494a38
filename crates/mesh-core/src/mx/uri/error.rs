use std::fmt;

use super::super::PathError;
use crate::name::NameProblem;

/// Why a text is not an MXURI. Never holds the text, which came from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("MXURI: {problem} at offset {offset}")]
#[non_exhaustive]
pub struct UriError {
    /// What is wrong.
    pub problem: UriProblem,
    /// Byte offset in the URI where it is wrong.
    pub offset: usize,
}

/// What is wrong with an MXURI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UriProblem {
    /// It does not begin with `matrix://`.
    Scheme,
    /// An `@` in front of the path.
    UserInfo,
    /// A `:` in front of the path.
    Port,
    /// A `?`.
    Query,
    /// A `#`.
    Fragment,
    /// A segment, label, plane or message that is empty or not there.
    Empty,
    /// A `%` without two hex digits behind it.
    BadEscape,
    /// Escapes that are not UTF-8.
    NotUtf8,
    /// A character that may not stand there, escaped or not.
    Character(char),
    /// Neither `accepts` nor `emits` where the plane should be.
    Plane,
    /// A realm or a path of more bytes than its topics have room for.
    TooLong {
        /// The most bytes allowed.
        max: usize,
        /// The bytes found.
        found: usize,
    },
}

impl UriError {
    pub(super) fn new(problem: UriProblem, offset: usize) -> Self {
        Self { problem, offset }
    }

    /// A refused name; `place` tells where an offset in the name stands in the URI.
    pub(super) fn of_name(problem: NameProblem, place: impl Fn(usize) -> usize) -> Self {
        match problem {
            NameProblem::Character { found, offset } => {
                Self::new(UriProblem::Character(found), place(offset))
            }
            NameProblem::TooLong { max, found } => {
                Self::new(UriProblem::TooLong { max, found }, place(0))
            }
            NameProblem::Empty { offset } => Self::new(UriProblem::Empty, place(offset)),
            // No realm or path is reserved.
            NameProblem::Reserved => Self::new(UriProblem::Empty, place(0)),
        }
    }

    /// A refused path; `place` tells where an offset in the path stands in the URI.
    pub(super) fn of_path(error: PathError, place: impl Fn(usize) -> usize) -> Self {
        match error {
            PathError::Text(problem) => Self::of_name(problem, place),
            PathError::Plane { offset } => Self::new(UriProblem::Plane, place(offset)),
        }
    }
}

impl fmt::Display for UriProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme => f.write_str("no `matrix://`"),
            Self::UserInfo => f.write_str("user information"),
            Self::Port => f.write_str("port"),
            Self::Query => f.write_str("query"),
            Self::Fragment => f.write_str("fragment"),
            Self::Empty => f.write_str("nothing"),
            Self::BadEscape => f.write_str("bad escape"),
            Self::NotUtf8 => f.write_str("escapes that are not UTF-8"),
            Self::Character(found) => write!(f, "character {found:?} not allowed"),
            Self::Plane => f.write_str("no `accepts` or `emits`"),
            Self::TooLong { max, found } => {
                write!(f, "too long ({found} bytes, at most {max})")
            }
        }
    }
}
