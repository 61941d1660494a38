//! The values of headers: `x-` ones are percent-encoded, others travel as they are.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{EventError, EventProblem};
use crate::percent::{self, PercentError};

/// Everything outside U+0021–U+007E is encoded, and these. (Bytes above U+007E always are.)
const WIRE: &AsciiSet = &CONTROLS.add(b' ').add(b'"');
const TEXT: &AsciiSet = &WIRE.add(b'%');

/// Whether values of headers of this name are percent-encoded.
pub(super) fn is_encoded(name: &str) -> bool {
    name.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("x-"))
}

/// Any text as the value of an `x-` header (protocol §3): outside U+0021–U+007E, and space, `"` and
/// `%`, it is percent-encoded.
#[must_use]
pub fn encode_header(text: &str) -> String {
    utf8_percent_encode(text, TEXT).to_string()
}

/// The text that the value of an `x-` header stands for, as far as it can be read: for people, who
/// would rather see an odd escape than nothing.
#[must_use]
pub fn decode_header(value: &str) -> Cow<'_, str> {
    percent::decode(value).unwrap_or(Cow::Borrowed(value))
}

/// What another program wrote, with its escapes left alone and what it should have encoded encoded.
pub(super) fn made_safe(value: &str) -> String {
    utf8_percent_encode(value, WIRE).to_string()
}

/// The text that an `x-` header's value stands for.
pub(super) fn decode<'a>(name: &'static str, value: &'a str) -> Result<Cow<'a, str>, EventError> {
    percent::decode(value).map_err(|error| {
        let problem = match error {
            PercentError::BadEscape { offset } => EventProblem::Escape { offset },
            PercentError::NotUtf8 { offset } => EventProblem::Utf8 { offset },
        };
        EventError::new(name, problem)
    })
}

/// The offset of what would end a header's line, or the header.
pub(super) fn line_break(value: &str) -> Option<usize> {
    value.bytes().position(|b| matches!(b, b'\r' | b'\n' | 0))
}

/// Refuses a value that would end a header's line.
pub(super) fn check_line(name: &str, value: &str) -> Result<(), EventError> {
    match line_break(value) {
        None => Ok(()),
        Some(offset) => Err(EventError::new(name.to_owned(), EventProblem::LineBreak { offset })),
    }
}
