use std::fmt;

use super::{MAX_DEPTH, MAX_UNKNOWN_FIELDS};

/// Why bytes are not the JSON asked for. Never holds the text, which came from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("JSON: {problem} at offset {offset}")]
#[non_exhaustive]
pub struct JsonError {
    /// What is wrong.
    pub problem: JsonProblem,
    /// Byte offset in the document where it is wrong.
    pub offset: usize,
}

impl JsonError {
    pub(crate) fn new(problem: JsonProblem, offset: usize) -> Self {
        Self { problem, offset }
    }
}

/// What is wrong with a JSON document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonProblem {
    /// More bytes than the reader takes.
    TooLarge {
        /// The most bytes taken.
        max: usize,
        /// The bytes found.
        found: usize,
    },
    /// Not UTF-8.
    NotUtf8,
    /// A byte-order mark before the document.
    ByteOrderMark,
    /// The document ends inside a value, or before one.
    UnexpectedEnd,
    /// A character that may not stand here.
    Unexpected,
    /// Text after the value.
    TrailingText,
    /// More than [`MAX_DEPTH`](super::MAX_DEPTH) containers open.
    TooDeep,
    /// A control character inside a string.
    ControlCharacter,
    /// A backslash with something after it that is no escape.
    BadEscape,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// Digits that are not a JSON number: `01`, `1.`, `.5`, `1e`.
    BadNumber,
    /// `NaN` or an infinity, which JSON does not have.
    NotFinite,
    /// Another value where an object was wanted.
    NotAnObject,
    /// A key that the object already has.
    DuplicateKey,
    /// More than [`MAX_UNKNOWN_FIELDS`](super::MAX_UNKNOWN_FIELDS) fields that nobody knows.
    TooManyFields,
}

impl fmt::Display for JsonProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { max, found } => {
                write!(f, "too large ({found} bytes, at most {max})")
            }
            Self::NotUtf8 => f.write_str("not UTF-8"),
            Self::ByteOrderMark => f.write_str("byte-order mark"),
            Self::UnexpectedEnd => f.write_str("unexpected end"),
            Self::Unexpected => f.write_str("unexpected character"),
            Self::TrailingText => f.write_str("text after the value"),
            Self::TooDeep => write!(f, "nested deeper than {MAX_DEPTH}"),
            Self::ControlCharacter => f.write_str("control character in a string"),
            Self::BadEscape => f.write_str("bad escape"),
            Self::LoneSurrogate => f.write_str("lone surrogate"),
            Self::BadNumber => f.write_str("bad number"),
            Self::NotFinite => f.write_str("number that is not finite"),
            Self::NotAnObject => f.write_str("expected an object"),
            Self::DuplicateKey => f.write_str("duplicate key"),
            Self::TooManyFields => write!(f, "more than {MAX_UNKNOWN_FIELDS} unknown fields"),
        }
    }
}

/// Why a value can't be written as JSON.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// A float that is not a number or infinite; JSON has no such number, and `null` is another value.
    #[error("a float that is not finite can't be written as JSON")]
    NotFinite,
    /// What was written is not JSON that a strict reader takes (too deep, say).
    #[error(transparent)]
    Refused(#[from] JsonError),
    /// The type's own `Serialize` failed.
    #[error("the value can't be written as JSON")]
    Serialize(#[source] serde_json::Error),
}
