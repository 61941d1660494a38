use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{EmitError, JsonError, RawJson, Scanner, finite};

/// One JSON value as UTF-8 text that owns its bytes, checked as [`RawJson`] is, and at most 126 deep: it
/// stays readable when it is put into an envelope. The bytes are kept as they came, white space around
/// the value too. Cheap to clone.
///
/// ```
/// use mesh_core::json::JsonText;
///
/// let body = JsonText::new(r#"{"b": 1.0, "a": 12345678901234567890123}"#)?;
/// assert_eq!(body.as_str(), r#"{"b": 1.0, "a": 12345678901234567890123}"#);
/// assert!(JsonText::from_value(&f64::NAN).is_err());
/// assert_eq!(JsonText::new("{} x").unwrap_err().offset, 3);
/// # Ok::<(), mesh_core::json::JsonError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(Bytes);

impl JsonText {
    /// The containers that an envelope puts around a value: `{"credential": {"field": …}}`.
    const ROOM: usize = 2;

    /// Checks `text`.
    ///
    /// # Errors
    /// [`JsonError`] with the problem and its byte offset.
    pub fn new(text: impl Into<Bytes>) -> Result<Self, JsonError> {
        let text = text.into();
        let mut scanner = Scanner::nested(&text, Self::ROOM)?;
        scanner.value()?;
        scanner.end()?;
        Ok(Self(text))
    }

    /// Writes `value`.
    ///
    /// # Errors
    /// [`EmitError`]: a float that is not finite, a value that a strict reader would refuse, or a
    /// failure of the type's own `Serialize`.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, EmitError> {
        finite::check(value)?;
        Ok(Self::new(serde_json::to_vec(value).map_err(EmitError::Serialize)?)?)
    }

    /// For what [`ObjectWriter`](super::ObjectWriter) wrote.
    pub(crate) fn from_checked(text: Vec<u8>) -> Self {
        debug_assert!(RawJson::from_slice(&text, usize::MAX).is_ok());
        Self(text.into())
    }

    /// Reads the value as a `T`.
    ///
    /// # Errors
    /// serde_json's, with line and column.
    pub fn decode<'de, T: Deserialize<'de>>(&'de self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// The value, borrowed, without white space around it.
    #[must_use]
    pub fn raw(&self) -> RawJson<'_> {
        let value = self.as_str().trim_matches([' ', '\n', '\r', '\t']);
        RawJson::from_checked(value.into())
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
