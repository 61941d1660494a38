use std::fmt;

use super::{FingerprintError, UrlError};
use crate::json::JsonError;
use crate::name::NameError;

/// Why a text is not a credential, a bootstrap URL or an enrolment token: which field, what is
/// wrong and where. Never holds any of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("credential: {field}: {problem}")]
#[non_exhaustive]
pub struct CredentialError {
    /// The field, or `"document"` for the whole.
    pub field: &'static str,
    /// What is wrong.
    pub problem: CredentialProblem,
}

/// What is wrong with a field of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialProblem {
    /// More bytes than [`MAX_DOCUMENT_BYTES`](super::MAX_DOCUMENT_BYTES).
    TooLarge {
        /// The bytes found.
        found: usize,
    },
    /// Not JSON, or a key twice.
    Json(JsonError),
    /// Not base64url.
    Base64 {
        /// Byte offset in the token.
        offset: usize,
    },
    /// The field isn't there.
    Missing,
    /// A value of another type or shape.
    Expected {
        /// What was wanted.
        what: &'static str,
        /// Byte offset of the value in the document.
        offset: usize,
    },
    /// Not a name.
    Name(NameError),
    /// Not a broker's URL; the offset is within the URL.
    Url(UrlError),
    /// Not a fingerprint; the offset is within it.
    Fingerprint(FingerprintError),
    /// A bootstrap URL where a scoped credential is wanted.
    Unscoped,
    /// A scoped credential where a bootstrap URL is wanted.
    Scoped,
}

impl fmt::Display for CredentialProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { found } => {
                write!(f, "{found} bytes long, at most {} are allowed", super::MAX_DOCUMENT_BYTES)
            }
            Self::Json(error) => error.fmt(f),
            Self::Base64 { offset } => write!(f, "not base64url at offset {offset}"),
            Self::Missing => f.write_str("missing"),
            Self::Expected { what, offset } => write!(f, "expected {what} at offset {offset}"),
            Self::Name(error) => error.fmt(f),
            Self::Url(error) => error.fmt(f),
            Self::Fingerprint(error) => error.fmt(f),
            Self::Unscoped => f.write_str("a bootstrap URL has no node or module"),
            Self::Scoped => f.write_str("a scoped credential is not a bootstrap URL"),
        }
    }
}
