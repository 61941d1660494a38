use std::borrow::Cow;
use std::fmt;

use crate::json::JsonError;
use crate::name::NameError;

/// Why a text is not a grant, a withdrawal or an answer to one. Never holds a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("provision: {field}: {problem}")]
#[non_exhaustive]
pub struct ProvisionError {
    /// The field, or `"body"` for the whole.
    pub field: Cow<'static, str>,
    /// What is wrong.
    pub problem: ProvisionProblem,
}

/// What is wrong with a field of a grant or a withdrawal.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProvisionProblem {
    /// Not JSON, a key twice, or no object.
    Json(JsonError),
    /// The field isn't there, or is `null`.
    Missing,
    /// A value of another type.
    Expected {
        /// What was wanted.
        what: &'static str,
        /// Byte offset of the value.
        offset: usize,
    },
    /// Not a name.
    Name(NameError),
    /// A field of the credential that the provision doesn't promise.
    NotPromised,
}

impl ProvisionError {
    pub(super) fn new(field: impl Into<Cow<'static, str>>, problem: ProvisionProblem) -> Self {
        let field = field.into();
        Self { field, problem }
    }

    pub(super) fn json(error: JsonError) -> Self {
        Self::new("body", ProvisionProblem::Json(error))
    }
}

impl fmt::Display for ProvisionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Missing => f.write_str("missing"),
            Self::Expected { what, offset } => write!(f, "expected {what} at offset {offset}"),
            Self::Name(error) => error.fmt(f),
            Self::NotPromised => f.write_str("not among the promised fields"),
        }
    }
}
