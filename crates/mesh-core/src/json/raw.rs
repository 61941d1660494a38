use std::borrow::Cow;
use std::fmt;

use super::{EmitError, JsonError, Scanner, finite, string};

/// One JSON value as its exact text, checked, borrowed from its document where it can be.
///
/// Two of them are equal when their texts are. `Debug` shows the length alone: a body may hold
/// what is not for a log.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson<'a>(Cow<'a, str>);

/// What a JSON value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// Exhaustive on purpose: JSON has six kinds of value.
pub enum JsonKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number of any size.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl<'a> RawJson<'a> {
    /// The JSON `null`.
    pub const NULL: RawJson<'static> = RawJson(Cow::Borrowed("null"));

    /// Checks `text`: one JSON value, white space around it is not kept.
    ///
    /// # Errors
    /// [`JsonError`] with the problem and its byte offset.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Result<Self, JsonError> {
        fn checked(text: &str) -> Result<&str, JsonError> {
            let mut scanner = Scanner::new(text.as_bytes(), usize::MAX)?;
            let value = scanner.value()?;
            scanner.end()?;
            Ok(value.text)
        }
        match text.into() {
            Cow::Borrowed(text) => Ok(Self(Cow::Borrowed(checked(text)?))),
            Cow::Owned(text) => {
                let value = checked(&text)?;
                Ok(if value.len() == text.len() {
                    Self(Cow::Owned(text))
                } else {
                    Self(Cow::Owned(value.to_owned()))
                })
            }
        }
    }

    /// Checks at most `max_bytes` of UTF-8 that came from outside.
    ///
    /// # Errors
    /// [`JsonError`] with the problem and its byte offset.
    pub fn from_slice(bytes: &'a [u8], max_bytes: usize) -> Result<Self, JsonError> {
        let mut scanner = Scanner::new(bytes, max_bytes)?;
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value.raw())
    }

    /// Writes `value` as JSON.
    ///
    /// # Errors
    /// [`EmitError`]: a float that is not finite, a value that a strict reader would refuse, or a
    /// failure of the type's own `Serialize`.
    pub fn from_serialize<T: serde::Serialize + ?Sized>(
        value: &T,
    ) -> Result<RawJson<'static>, EmitError> {
        finite::check(value)?;
        let text = serde_json::to_string(value).map_err(EmitError::Serialize)?;
        Ok(RawJson::new(text)?)
    }

    /// A JSON string with this text.
    #[must_use]
    pub fn string(text: &str) -> RawJson<'static> {
        let mut token = Vec::with_capacity(text.len() + 2);
        string::write(&mut token, text);
        RawJson(Cow::Owned(String::from_utf8(token).unwrap_or_default()))
    }

    pub(crate) fn from_checked(text: Cow<'a, str>) -> Self {
        Self(text)
    }

    /// Whether it can stand inside that many containers more and still be read.
    #[must_use]
    pub fn fits_inside(&self, levels: usize) -> bool {
        Scanner::nested(self.0.as_bytes(), levels).is_ok_and(|mut scanner| scanner.value().is_ok())
    }

    /// The exact text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the value is.
    #[must_use]
    pub fn kind(&self) -> JsonKind {
        match self.0.as_bytes().first() {
            Some(b'{') => JsonKind::Object,
            Some(b'[') => JsonKind::Array,
            Some(b'"') => JsonKind::String,
            Some(b't' | b'f') => JsonKind::Bool,
            Some(b'n') | None => JsonKind::Null,
            Some(_) => JsonKind::Number,
        }
    }

    /// The text of a string, `None` for any other value.
    #[must_use]
    pub fn as_string(&self) -> Option<Cow<'_, str>> {
        (self.kind() == JsonKind::String).then(|| string::unescape(&self.0))
    }

    /// The value as a type of the caller's.
    ///
    /// # Errors
    /// Whatever that type's `Deserialize` refuses.
    pub fn to<'de, T: serde::Deserialize<'de>>(&'de self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// The same value, borrowed from this one.
    #[must_use]
    pub fn borrowed(&self) -> RawJson<'_> {
        RawJson(Cow::Borrowed(&self.0))
    }

    /// The value without a borrow of the document.
    #[must_use]
    pub fn into_owned(self) -> RawJson<'static> {
        RawJson(Cow::Owned(self.0.into_owned()))
    }
}

impl AsRef<str> for RawJson<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({:?}, {} bytes)", self.kind(), self.0.len())
    }
}
