use std::borrow::Cow;
use std::fmt;

/// Names of headers that the mesh sets or reads itself.
pub mod names {
    use super::HeaderName;
    use crate::event;

    macro_rules! header_names {
        ($($(#[$doc:meta])* $constant:ident = $text:expr;)*) => {
            $($(#[$doc])* pub const $constant: HeaderName = HeaderName::from_static($text);)*

            #[cfg(test)]
            pub(crate) const ALL: &[HeaderName] = &[$($constant),*];

            /// The constant of this very text.
            pub(super) fn find(text: &str) -> Option<HeaderName> {
                $(if text == $text {
                    return Some($constant);
                })*
                None
            }
        };
    }

    header_names! {
        /// Unique id of an event (protocol §3).
        EVENT_ID = event::EVENT_ID;
        /// Module that emitted an event.
        SOURCE = event::SOURCE;
        /// Node that an event was emitted on.
        NODE = event::NODE;
        /// When an event was emitted, RFC 3339.
        TIME = event::TIME;
        /// Media type of the body.
        CONTENT_TYPE = event::CONTENT_TYPE;
        /// The event or command that caused this one.
        CAUSATION_ID = event::CAUSATION_ID;
        /// Version of the body's shape.
        SCHEMA = event::SCHEMA;
        /// W3C trace context.
        TRACEPARENT = event::TRACEPARENT;
        /// W3C trace state.
        TRACESTATE = event::TRACESTATE;
        /// W3C baggage.
        BAGGAGE = event::BAGGAGE;
        /// Milliseconds that the caller will wait for an answer, counted from sending.
        TIMEOUT_MS = "x-timeout-ms";
        /// Signature over a body: `<key id>.<base64url>` (protocol §6).
        SIGNATURE = "x-signature";
        /// The epoch of a declaration, a hint (protocol §2).
        EPOCH = "x-epoch";
        /// Text of a failed tool's error (protocol §6).
        SERVICE_ERROR = "Nats-Service-Error";
        /// Code of a failed tool's error (protocol §6).
        SERVICE_ERROR_CODE = "Nats-Service-Error-Code";
        /// The subject that a dead letter was first published to.
        DEAD_SUBJECT = "x-dead-subject";
        /// The consumer that could not handle it.
        DEAD_CONSUMER = "x-dead-consumer";
        /// Its sequence in the stream.
        DEAD_SEQUENCE = "x-dead-sequence";
        /// How often it was delivered.
        DEAD_DELIVERIES = "x-dead-deliveries";
        /// `max-deliver`, `terminated`, `undecodable`, `unverifiable` or `aged-out`.
        DEAD_REASON = "x-dead-reason";
        /// The handler's reason, bounded.
        DEAD_ERROR = "x-dead-error";
        /// When it was given up, RFC 3339.
        DEAD_TIME = "x-dead-time";
    }
}

/// A header's name: 1 to 128 bytes of U+0021–U+007E without `:`. Its case is kept; two names that
/// differ in case are two names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderName(Cow<'static, str>);

/// A header's value: UTF-8 without control characters, not beginning or ending with white space,
/// at most 16 KiB. May be empty.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeaderValue(Cow<'static, str>);

/// Why a text is not a header name or value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("header {part}: {problem}")]
#[non_exhaustive]
pub struct HeaderError {
    /// `"name"` or `"value"`.
    pub part: &'static str,
    /// What is wrong.
    pub problem: HeaderProblem,
}

/// What is wrong with a header name or value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderProblem {
    /// A name without a character.
    #[error("empty")]
    Empty,
    /// More bytes than allowed.
    #[error("{found} bytes long, at most {max} are allowed")]
    TooLong {
        /// The most bytes allowed.
        max: usize,
        /// The bytes found.
        found: usize,
    },
    /// A character that may not stand there.
    #[error("character {found:?} at offset {offset} is not allowed")]
    Character {
        /// The character.
        found: char,
        /// Its byte offset.
        offset: usize,
    },
}

impl HeaderName {
    const MAX: usize = 128;

    /// Checks `text`.
    ///
    /// # Errors
    /// [`HeaderError`] with the character and its byte offset.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Result<Self, HeaderError> {
        let text = text.into();
        let refused = |problem| Err(HeaderError { part: "name", problem });
        let plain = |b: u8| matches!(b, b'!'..=b'~') && b != b':';
        if (1..=Self::MAX).contains(&text.len()) && text.bytes().all(plain) {
            return Ok(Self(text));
        }
        if text.is_empty() {
            return refused(HeaderProblem::Empty);
        }
        if let Some((offset, found)) =
            text.char_indices().find(|(_, c)| !matches!(c, '!'..='~') || *c == ':')
        {
            return refused(HeaderProblem::Character { found, offset });
        }
        if text.len() > Self::MAX {
            return refused(HeaderProblem::TooLong { max: Self::MAX, found: text.len() });
        }
        Ok(Self(text))
    }

    /// The one of [`names`] that is this very text, without a copy of it.
    #[must_use]
    pub fn known(text: &str) -> Option<Self> {
        names::find(text)
    }

    /// The text, where it lives as long as the program: a literal, or one of [`names`].
    #[must_use]
    pub fn as_static(&self) -> Option<&'static str> {
        match self.0 {
            Cow::Borrowed(text) => Some(text),
            Cow::Owned(_) => None,
        }
    }

    /// For the literals of [`names`], which a test checks.
    const fn from_static(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl HeaderValue {
    const MAX: usize = 16 * 1024;

    /// `application/json`.
    #[must_use]
    pub const fn json() -> Self {
        Self(Cow::Borrowed("application/json"))
    }

    /// Checks `text`.
    ///
    /// # Errors
    /// [`HeaderError`] with the character and its byte offset.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Result<Self, HeaderError> {
        let text = text.into();
        let refused = |problem| Err(HeaderError { part: "value", problem });
        if text.len() <= Self::MAX && is_plain(text.as_bytes()) {
            return Ok(Self(text));
        }
        let last = text.char_indices().next_back().map_or(0, |(offset, _)| offset);
        let bad = |&(offset, c): &(usize, char)| {
            c.is_control() || ((offset == 0 || offset == last) && c.is_whitespace())
        };
        if let Some((offset, found)) = text.char_indices().find(bad) {
            return refused(HeaderProblem::Character { found, offset });
        }
        if text.len() > Self::MAX {
            return refused(HeaderProblem::TooLong { max: Self::MAX, found: text.len() });
        }
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether it is printable ASCII with no space at either end: what nearly every value is.
fn is_plain(text: &[u8]) -> bool {
    let ends = text.first().into_iter().chain(text.last());
    text.iter().fold(true, |plain, b| plain & matches!(b, b' '..=b'~'))
        && ends.into_iter().all(|b| *b != b' ')
}

impl From<u64> for HeaderValue {
    fn from(number: u64) -> Self {
        Self(Cow::Owned(number.to_string()))
    }
}

macro_rules! header_impls {
    ($name:ident) => {
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
        impl std::str::FromStr for $name {
            type Err = HeaderError;
            fn from_str(text: &str) -> Result<Self, HeaderError> {
                Self::new(text.to_owned())
            }
        }
        impl TryFrom<String> for $name {
            type Error = HeaderError;
            fn try_from(text: String) -> Result<Self, HeaderError> {
                Self::new(text)
            }
        }
    };
}

header_impls!(HeaderName);
header_impls!(HeaderValue);

impl fmt::Debug for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeaderName({:?})", &*self.0)
    }
}

/// Shows the length only: a value may be secret.
impl fmt::Debug for HeaderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeaderValue({} bytes)", self.0.len())
    }
}
