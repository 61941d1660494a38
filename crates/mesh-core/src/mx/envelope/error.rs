use std::fmt;

use super::super::{PathError, Profile};
use crate::json::{JsonError, JsonProblem, token_offset};
use crate::name::NameProblem;

/// Why bytes are no envelope. Never holds the envelope's text, which came from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field} at offset {offset}: {problem}")]
#[non_exhaustive]
pub struct DecodeError {
    /// The field, as `to.realm`; `envelope` for the whole.
    pub field: &'static str,
    /// Byte offset in the document: of the value, of the object that lacks a field, or of the
    /// very byte where the JSON is wrong.
    pub offset: usize,
    /// What is wrong.
    pub problem: DecodeProblem,
}

/// What is wrong with an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeProblem {
    /// Not strict JSON.
    Json(JsonProblem),
    /// JSON, but of none of the shapes that tell the profiles apart.
    Shape,
    /// A field that must be there is not.
    Missing,
    /// A field of another type.
    Type {
        /// What it should be: `"a string"`, …
        expected: &'static str,
    },
    /// An empty text where there must be some.
    Empty,
    /// Not one of `Cmd Evt Result Sub Unsub Nack`.
    MsgType,
    /// Not a realm; the offset inside counts from the name's first byte.
    Realm(NameProblem),
    /// Not a path; the offset inside counts from the path's first byte.
    Path(PathError),
    /// Not a subject.
    Subject,
}

impl DecodeError {
    /// Byte offset in `document`, which was refused with this error, of the very byte that is wrong,
    /// where that is inside the value at [`offset`](Self::offset).
    ///
    /// ```
    /// use mesh_core::mx::{DEFAULT_MAX_BYTES, decode};
    ///
    /// let document = br#"{"fromRealm":"a*b","toPath":"a.emits.m","correlationId":"c"}"#;
    /// let error = decode(document, DEFAULT_MAX_BYTES).unwrap_err();
    /// assert_eq!((error.field, error.offset), ("fromRealm", 13));
    /// assert_eq!(document[error.offset_in(document)], b'*');
    /// ```
    #[must_use]
    pub fn offset_in(&self, document: &[u8]) -> usize {
        let inside = match self.problem {
            DecodeProblem::Realm(problem) => problem.offset(),
            DecodeProblem::Path(error) => error.offset(),
            _ => return self.offset,
        };
        let token = document.get(self.offset..).unwrap_or_default();
        self.offset + token_offset(token, inside)
    }

    pub(crate) fn new(field: &'static str, offset: usize, problem: DecodeProblem) -> Self {
        Self { field, offset, problem }
    }

    /// A JSON error inside `field`.
    pub(crate) fn json(field: &'static str) -> impl Fn(JsonError) -> Self {
        move |error| Self::new(field, error.offset, DecodeProblem::Json(error.problem))
    }
}

impl fmt::Display for DecodeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(problem) => write!(f, "{problem}"),
            Self::Shape => f.write_str("of no known profile"),
            Self::Missing => f.write_str("missing"),
            Self::Type { expected } => write!(f, "not {expected}"),
            Self::Empty => f.write_str("empty"),
            Self::MsgType => f.write_str("not a message type"),
            Self::Realm(problem) => write!(f, "realm: {problem}"),
            Self::Path(error) => write!(f, "{error}"),
            Self::Subject => f.write_str("not a subject"),
        }
    }
}

/// Why an envelope can't be written in a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The profile wants a field that is not set.
    #[error("{profile}: {field} is missing")]
    Missing {
        /// The field on the wire.
        field: &'static str,
        /// The profile.
        profile: Profile,
    },
    /// A field is set that the profile has no place for.
    #[error("{profile}: no place for {field}")]
    NoPlace {
        /// The field on the wire; `unknown field` for one that was only kept.
        field: &'static str,
        /// The profile.
        profile: Profile,
    },
    /// The profile does not have this type of message, or not on a path of this plane.
    #[error("{profile}: no such message on this path")]
    Kind {
        /// The profile.
        profile: Profile,
    },
}
