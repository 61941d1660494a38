use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::time::Timestamp;

/// The id of an event, or of what caused one: 1 to 128 printable ASCII bytes. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId(Arc<str>);

/// Why a text is not the id of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventIdError {
    /// Nothing there.
    #[error("empty")]
    Empty,
    /// More than 128 bytes.
    #[error("{found} bytes long, at most {} are allowed", EventId::MAX_BYTES)]
    TooLong {
        /// The bytes found.
        found: usize,
    },
    /// A byte that is not printable ASCII.
    #[error("not printable at offset {offset}")]
    NotPrintable {
        /// Its offset.
        offset: usize,
    },
}

impl EventId {
    /// The most bytes of an id.
    pub const MAX_BYTES: usize = 128;

    /// Checks `text`, which may be any emitter's.
    ///
    /// # Errors
    /// [`EventIdError`] with the offset.
    pub fn new(text: impl AsRef<str>) -> Result<Self, EventIdError> {
        let text = text.as_ref();
        if text.is_empty() {
            return Err(EventIdError::Empty);
        }
        if text.len() > Self::MAX_BYTES {
            return Err(EventIdError::TooLong { found: text.len() });
        }
        let printable = |byte: u8| matches!(byte, b' '..=b'~');
        match text.bytes().position(|byte| !printable(byte)) {
            Some(offset) => Err(EventIdError::NotPrintable { offset }),
            None => Ok(Self(text.into())),
        }
    }

    /// A UUIDv7 made at `time` from 80 random bits. The same input makes the same id.
    #[must_use]
    pub fn v7(time: Timestamp, random: [u8; 10]) -> Self {
        let millis = u64::try_from(time.as_millis()).unwrap_or(0);
        let uuid = uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid();
        Self(uuid.hyphenated().to_string().into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// As the value of an `x-` header, percent-encoded where it has to be.
    #[must_use]
    pub fn to_header(&self) -> String {
        super::value::encode_header(&self.0)
    }

    /// The id that the value of an `x-` header stands for.
    ///
    /// # Errors
    /// [`EventError`](super::EventError) naming the header `name`.
    pub fn from_header(name: &'static str, value: &str) -> Result<Self, super::EventError> {
        let text = super::value::decode(name, value)?;
        Self::new(text)
            .map_err(|error| super::EventError::new(name, super::EventProblem::Id(error)))
    }
}

impl FromStr for EventId {
    type Err = EventIdError;

    fn from_str(text: &str) -> Result<Self, EventIdError> {
        Self::new(text)
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventId({:?})", &*self.0)
    }
}
