//! mxesc1: any text as one subject token (protocol §8). `A–Z a–z 0–9 - _ ~` stay as they are;
//! every other byte of the UTF-8 is `%HH`.
//!
//! ```
//! use mesh_core::mx::escape;
//!
//! assert_eq!(escape::encode("acme.com"), "acme%2Ecom");
//! assert_eq!(escape::decode("acme%2ecom")?, "acme.com");
//! assert!(escape::decode_canonical("acme%2ecom").is_err());
//! # Ok::<(), escape::EscapeError>(())
//! ```

use std::borrow::Cow;

use crate::percent::{self, PercentError};

/// Why a text is not mxesc1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EscapeError {
    /// Nothing there.
    #[error("mxesc1: empty")]
    Empty,
    /// A `%` without two hex digits behind it.
    #[error("mxesc1: bad escape at offset {offset}")]
    BadEscape {
        /// Byte offset of the `%`.
        offset: usize,
    },
    /// The bytes that the escapes stand for are not UTF-8.
    #[error("mxesc1: not UTF-8 at offset {offset}")]
    NotUtf8 {
        /// Byte offset, in the text, of the first byte that does not fit.
        offset: usize,
    },
    /// Good mxesc1, but not as [`encode`] writes it: lower-case hex, an escape too many, or a byte
    /// that should have been escaped.
    #[error("mxesc1: not canonical at offset {offset}")]
    NotCanonical {
        /// Byte offset of the first byte that `encode` would have written otherwise.
        offset: usize,
    },
}

impl EscapeError {
    /// Byte offset in the text of what is wrong.
    #[must_use]
    pub fn offset(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::BadEscape { offset }
            | Self::NotUtf8 { offset }
            | Self::NotCanonical { offset } => *offset,
        }
    }
}

/// Escapes `text`; borrowed where there is nothing to escape.
#[must_use]
pub fn encode(text: &str) -> Cow<'_, str> {
    percent::encode(text, keeps)
}

/// The bytes that [`encode`] makes of `text`, without making them.
pub(crate) fn encoded_len(text: &str) -> usize {
    text.bytes().map(|b| if keeps(b) { 1 } else { 3 }).sum()
}

/// Reads mxesc1; hex digits in either case.
///
/// # Errors
/// [`EscapeError`]: empty, a bad escape, not UTF-8.
pub fn decode(text: &str) -> Result<Cow<'_, str>, EscapeError> {
    if text.is_empty() {
        return Err(EscapeError::Empty);
    }
    percent::decode(text).map_err(|error| match error {
        PercentError::BadEscape { offset } => EscapeError::BadEscape { offset },
        PercentError::NotUtf8 { offset } => EscapeError::NotUtf8 { offset },
    })
}

/// Reads mxesc1 exactly as [`encode`] writes it, so that one name has one spelling.
///
/// # Errors
/// [`EscapeError`]: those of [`decode`], and any other spelling.
pub fn decode_canonical(text: &str) -> Result<Cow<'_, str>, EscapeError> {
    let decoded = decode(text)?;
    let canonical = encode(&decoded);
    if *canonical == *text {
        return Ok(decoded);
    }
    let same = |(a, b): &(u8, u8)| a == b;
    let offset = text.bytes().zip(canonical.bytes()).take_while(same).count();
    Err(EscapeError::NotCanonical { offset })
}

const fn keeps(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~')
}
