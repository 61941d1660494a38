//! JSON that is kept as text: checked once, passed on byte for byte (protocol §3).
//!
//! serde_json alone lets some things through that two readers understand differently: a key twice,
//! half of a surrogate pair, a NaN written as `null`. Here each is an error.
//!
//! ```
//! use mesh_core::json::JsonText;
//!
//! let body = JsonText::new(r#"{"b": 1.0, "a": 12345678901234567890123}"#)?;
//! assert_eq!(body.as_str(), r#"{"b": 1.0, "a": 12345678901234567890123}"#);
//! assert!(JsonText::from_value(&f64::NAN).is_err());
//! assert_eq!(JsonText::new("{} x").unwrap_err().offset, 3);
//! # Ok::<(), mesh_core::json::JsonError>(())
//! ```

mod check;
mod error;
mod fields;
mod finite;

#[cfg(test)]
mod tests;

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

pub use error::{JsonError, JsonProblem};
pub(crate) use fields::{Fields, ValueError};

/// The deepest nesting of arrays and objects that is read.
pub const MAX_DEPTH: usize = 128;

/// One JSON value as UTF-8 text: no byte-order mark, nothing after it, no lone surrogate, at most
/// [`MAX_DEPTH`] deep. The bytes are kept as they came. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(Bytes);

impl JsonText {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`JsonError`] with the problem and its byte offset.
    pub fn new(text: impl Into<Bytes>) -> Result<Self, JsonError> {
        let text = text.into();
        check::check(&text)?;
        Ok(Self(text))
    }

    /// Writes `value`.
    ///
    /// # Errors
    /// [`JsonProblem::NotFinite`] for a NaN or an infinity, which JSON can't hold;
    /// [`JsonProblem::Unserialisable`] where `value` itself refuses.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, JsonError> {
        finite::check(value)?;
        let text = serde_json::to_vec(value).map_err(|_| JsonError {
            problem: JsonProblem::Unserialisable,
            offset: 0,
        })?;
        Self::new(text)
    }

    /// Reads the value as a `T`.
    ///
    /// # Errors
    /// serde_json's, with line and column.
    pub fn decode<'de, T: Deserialize<'de>>(&'de self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Checked at construction; the bytes can't have changed since.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The bytes, shared.
    #[must_use]
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// The bytes.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl fmt::Debug for JsonText {
    /// The length only: a body may hold anything.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JsonText({} bytes)", self.0.len())
    }
}
