use std::borrow::Cow;
use std::fmt;

use super::headers::KNOWN;
use super::value;
use crate::message::belongs_to_broker;
use crate::percent;

/// Headers of an event that the protocol gives no meaning to. They are kept in order and passed
/// on; a value is kept as it travels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtraHeaders(Vec<(String, String)>);

/// Why a header can't be added to an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtraProblem {
    /// The name is empty, or has a character other than ASCII letters, digits and ``!#$%&'*+-.^_`|~``.
    Name {
        /// Its byte offset.
        offset: usize,
    },
    /// The name is one that the event's own facts travel under, or the broker's.
    Reserved,
    /// CR, LF or NUL in a value that travels as it is.
    LineBreak {
        /// Its byte offset.
        offset: usize,
    },
}

impl fmt::Display for ExtraProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { offset } => write!(f, "header name: not allowed at offset {offset}"),
            Self::Reserved => f.write_str("header name: reserved"),
            Self::LineBreak { offset } => {
                write!(f, "header value: line break or NUL at offset {offset}")
            }
        }
    }
}

impl std::error::Error for ExtraProblem {}

impl ExtraHeaders {
    /// Adds a header. The value of an `x-` header is any text and is percent-encoded; another
    /// header's travels as it is.
    ///
    /// # Errors
    /// [`ExtraProblem`], with the offset.
    pub fn insert(&mut self, name: &str, text: &str) -> Result<(), ExtraProblem> {
        check_name(name)?;
        if belongs_to_broker(name) || KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Err(ExtraProblem::Reserved);
        }
        self.push(name, text, value::encode_header)
    }

    /// Keeps a header that came with a message, under any name that a message can carry: what is
    /// unknown is no reason to refuse an event.
    pub(super) fn keep(&mut self, name: &str, value: &str) -> Result<(), ExtraProblem> {
        match name.bytes().position(|b| !b.is_ascii_graphic() || b == b':') {
            Some(offset) => return Err(ExtraProblem::Name { offset }),
            None if name.is_empty() => return Err(ExtraProblem::Name { offset: 0 }),
            None => {}
        }
        self.push(name, value, value::made_safe)
    }

    fn push(
        &mut self,
        name: &str,
        value: &str,
        encode: fn(&str) -> String,
    ) -> Result<(), ExtraProblem> {
        let value = if value::is_encoded(name) { encode(value) } else { value.to_owned() };
        if let Some(offset) = value::line_break(&value) {
            return Err(ExtraProblem::LineBreak { offset });
        }
        self.0.push((name.to_owned(), value));
        Ok(())
    }

    /// The first value of `name`, in any case, decoded where its escapes are whole and as it
    /// travels where they are not.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let (found, value) = self.iter().find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        if !value::is_encoded(found) {
            return Some(value.into());
        }
        Some(percent::decode(value).unwrap_or(value.into()))
    }

    /// Names and values as they travel.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// RFC 9110's `token`.
fn check_name(name: &str) -> Result<(), ExtraProblem> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    match name.bytes().position(|b| !allowed(b)) {
        Some(offset) => Err(ExtraProblem::Name { offset }),
        None if name.is_empty() => Err(ExtraProblem::Name { offset: 0 }),
        None => Ok(()),
    }
}
