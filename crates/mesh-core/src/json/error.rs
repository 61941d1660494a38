use std::fmt;

/// Why a text is not JSON that this crate passes on. Never holds any of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("JSON: {problem} at offset {offset}")]
#[non_exhaustive]
pub struct JsonError {
    /// What is wrong.
    pub problem: JsonProblem,
    /// Byte offset at which reading stopped; 0 where there is no text.
    pub offset: usize,
}

/// What is wrong with a text that should have been JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonProblem {
    /// Not UTF-8.
    Utf8,
    /// A leading byte-order mark.
    ByteOrderMark,
    /// Not JSON's grammar.
    Syntax,
    /// The text ends inside the value.
    Truncated,
    /// Something after the value.
    Trailing,
    /// Deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    TooDeep,
    /// Half of a surrogate pair.
    LoneSurrogate,
    /// A key that the same object has already.
    DuplicateKey,
    /// Something else where an object was wanted.
    NotAnObject,
    /// A NaN or an infinity.
    NotFinite,
    /// A value whose `Serialize` refuses, or a map whose keys are not text.
    Unserialisable,
}

impl fmt::Display for JsonProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf8 => "not UTF-8",
            Self::ByteOrderMark => "byte-order mark",
            Self::Syntax => "not JSON",
            Self::Truncated => "the text ends too early",
            Self::Trailing => "text after the value",
            Self::TooDeep => "nested too deep",
            Self::LoneSurrogate => "lone surrogate",
            Self::DuplicateKey => "duplicate key",
            Self::NotAnObject => "expected an object",
            Self::NotFinite => "a number that is not finite",
            Self::Unserialisable => "a value that can't be written as JSON",
        })
    }
}
