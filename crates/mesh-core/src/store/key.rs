use std::fmt;
use std::sync::Arc;

/// The name of an entry in a [`KeyValue`](super::KeyValue) bucket.
///
/// - 1 to 180 bytes of `A–Z a–z 0–9 - _ = .`, so that every store can take it as it is,
///   beside the [bucket's name](super::BucketName).
/// - No dot at either end, and no two beside each other.
///
/// Text from outside is brought into that form by the caller, for instance by a hash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StoreKey(Arc<str>);

/// Why a text is no key of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreKeyError {
    /// It is empty, or a part between dots is.
    #[error("store key: empty at byte {offset}")]
    Empty {
        /// Where something is missing.
        offset: usize,
    },
    /// A character that is not allowed.
    #[error("store key: {found:?} at byte {offset} is not allowed")]
    Character {
        /// The character.
        found: char,
        /// Where it stands.
        offset: usize,
    },
    /// It is too long.
    #[error("store key: {found} bytes long, at most 180 are allowed")]
    TooLong {
        /// The bytes found.
        found: usize,
    },
}

impl StoreKey {
    /// The key of this text.
    ///
    /// # Errors
    /// [`StoreKeyError`] with the offset.
    pub fn new(text: impl AsRef<str>) -> Result<Self, StoreKeyError> {
        const MOST: usize = 180;
        let text = text.as_ref();
        if text.len() > MOST {
            return Err(StoreKeyError::TooLong { found: text.len() });
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '=' | '.');
        if let Some((offset, found)) = text.char_indices().find(|(_, c)| !allowed(*c)) {
            return Err(StoreKeyError::Character { found, offset });
        }
        let mut offset = 0;
        for part in text.split('.') {
            if part.is_empty() {
                return Err(StoreKeyError::Empty { offset });
            }
            offset += part.len() + 1;
        }
        Ok(Self(Arc::from(text)))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
