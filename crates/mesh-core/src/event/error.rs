use std::borrow::Cow;
use std::fmt;

use super::EventIdError;
use crate::json::JsonError;
use crate::name::{ModuleName, NameError};
use crate::time::TimestampError;

/// Why a message is not an event. It goes to the dead letters as it came, without a retry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event: {field}: {problem}")]
#[non_exhaustive]
pub struct EventError {
    /// The header, the key of a structured body, or `"body"`.
    pub field: Cow<'static, str>,
    /// What is wrong; offsets are within the field's value.
    pub problem: EventProblem,
}

/// What is wrong with a field of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventProblem {
    /// A required field isn't there.
    Missing,
    /// The field is there more than once, with different values.
    Conflict,
    /// A `%` without two hexadecimal digits.
    Escape {
        /// Byte offset of the `%`.
        offset: usize,
    },
    /// Percent-encoded bytes that are not UTF-8.
    Utf8 {
        /// Byte offset of the first of them.
        offset: usize,
    },
    /// CR, LF or NUL, which no header can carry.
    LineBreak {
        /// Its byte offset.
        offset: usize,
    },
    /// A header's name with a character that no header's name can have.
    HeaderName {
        /// Its byte offset.
        offset: usize,
    },
    /// Not an event's id.
    Id(EventIdError),
    /// Not a name.
    Name(NameError),
    /// Not a moment.
    Time(TimestampError),
    /// Neither of the two content types that an event can have.
    ContentType,
    /// A value of a structured body that is not text.
    NotText {
        /// Byte offset in the body.
        offset: usize,
    },
    /// Not JSON.
    Json(JsonError),
}

impl EventError {
    pub(super) fn new(field: impl Into<Cow<'static, str>>, problem: EventProblem) -> Self {
        let field = field.into();
        Self { field, problem }
    }
}

impl fmt::Display for EventProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("missing"),
            Self::Conflict => f.write_str("given twice with different values"),
            Self::Escape { offset } => write!(f, "bad percent-encoding at offset {offset}"),
            Self::Utf8 { offset } => write!(f, "not UTF-8 at offset {offset}"),
            Self::LineBreak { offset } => write!(f, "line break or NUL at offset {offset}"),
            Self::HeaderName { offset } => write!(f, "not a header's name at offset {offset}"),
            Self::Id(error) => error.fmt(f),
            Self::Name(error) => error.fmt(f),
            Self::Time(error) => error.fmt(f),
            Self::ContentType => f.write_str("not the content type of an event"),
            Self::NotText { offset } => write!(f, "not a string, at offset {offset}"),
            Self::Json(error) => error.fmt(f),
        }
    }
}

/// An event whose source is not the module that the broker let publish it. It goes to the dead
/// letters as `unverifiable` and is not handled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unverifiable: x-source says {claimed}, the subject says {proven}")]
#[non_exhaustive]
pub struct Unverifiable {
    /// What the event says.
    pub claimed: ModuleName,
    /// What the subject says.
    pub proven: ModuleName,
}
