use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The name of a bucket of a [`KeyValue`](super::KeyValue) store: 1 to 63 of `a–z 0–9 -`, no `-` at the
/// beginning. It becomes one token of a subject, and part of a stream's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketName(Arc<str>);

/// Why a text is no name of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BucketNameError {
    /// It is empty.
    #[error("bucket: empty")]
    Empty,
    /// A character that is not allowed there.
    #[error("bucket: {found:?} at byte {offset} is not allowed")]
    Character {
        /// The character.
        found: char,
        /// Where it stands.
        offset: usize,
    },
    /// It is too long.
    #[error("bucket: {found} bytes long, at most 63 are allowed")]
    TooLong {
        /// The bytes found.
        found: usize,
    },
}

impl BucketName {
    /// The name of this text.
    ///
    /// # Errors
    /// [`BucketNameError`] with the offset.
    pub fn new(text: impl AsRef<str>) -> Result<Self, BucketNameError> {
        const MOST: usize = 63;
        let text = text.as_ref();
        if text.is_empty() {
            return Err(BucketNameError::Empty);
        }
        if text.len() > MOST {
            return Err(BucketNameError::TooLong { found: text.len() });
        }
        let allowed = |offset: usize, c: char| {
            c.is_ascii_lowercase() || c.is_ascii_digit() || (c == '-' && offset > 0)
        };
        match text.char_indices().find(|(offset, c)| !allowed(*offset, *c)) {
            Some((offset, found)) => Err(BucketNameError::Character { found, offset }),
            None => Ok(Self(Arc::from(text))),
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BucketName {
    type Err = BucketNameError;

    fn from_str(text: &str) -> Result<Self, BucketNameError> {
        Self::new(text)
    }
}

impl fmt::Display for BucketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
