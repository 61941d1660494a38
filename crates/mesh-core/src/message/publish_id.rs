use std::fmt;
use std::sync::Arc;

/// The id that names one append to the broker, so that a retry is recognised: 1 to 255 bytes of
/// U+0021–U+007E (an AMQP `message-id`, a `Nats-Msg-Id`).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PublishId(Arc<str>);

/// Why a text is not a [`PublishId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublishIdError {
    /// Nothing there, or more than 255 bytes.
    #[error("publish id: {found} bytes long, 1 to 255 are allowed")]
    Length {
        /// The bytes found.
        found: usize,
    },
    /// Something outside U+0021–U+007E.
    #[error("publish id: character {found:?} at offset {offset} is not allowed")]
    Character {
        /// The character.
        found: char,
        /// Its byte offset.
        offset: usize,
    },
}

impl PublishId {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`PublishIdError`] with the length, or the character and its offset.
    pub fn new(text: impl AsRef<str>) -> Result<Self, PublishIdError> {
        let text = text.as_ref();
        if text.is_empty() || text.len() > 255 {
            return Err(PublishIdError::Length { found: text.len() });
        }
        match text.char_indices().find(|(_, c)| !matches!(c, '!'..='~')) {
            Some((offset, found)) => Err(PublishIdError::Character { found, offset }),
            None => Ok(Self(Arc::from(text))),
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PublishId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for PublishId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublishId({:?})", &*self.0)
    }
}
