//! A message as it was captured.

use std::borrow::Cow;

use super::super::Place;

/// A message of a capture: what the capture says of it, and its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Capture<'a> {
    /// Which of the capture, from 1.
    pub(super) number: usize,
    /// Where the body begins: byte offset and line in the capture. Of one that was encoded, where
    /// the message begins.
    pub(super) offset: usize,
    pub(super) line: usize,
    /// Whether the body's bytes are the capture's own, so that places in it are places there.
    pub(super) encoded: bool,
    pub(super) subject: Option<String>,
    pub(super) reply: Option<String>,
    pub(super) headers: Vec<Header>,
    pub(super) body: Cow<'a, [u8]>,
}

/// A header of a captured message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) value: String,
    /// Where it is in the capture, if it is as it was sent.
    pub(super) line: Option<HeaderLine>,
}

/// A line of the capture that is a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeaderLine {
    pub(super) text: String,
    /// Where the line begins: byte offset and number.
    pub(super) offset: usize,
    pub(super) number: usize,
    /// Where in the line the value begins.
    pub(super) value: usize,
}

impl Header {
    /// The place of an offset in the value.
    pub(super) fn place(&self, offset: usize) -> Place {
        match &self.line {
            None => Place::of(self.value.as_bytes(), offset),
            Some(line) => Place::of(line.text.as_bytes(), line.value + offset)
                .within(line.offset, line.number),
        }
    }

    /// Where its line begins.
    pub(super) fn start(&self) -> Place {
        match &self.line {
            None => Place::of(self.name.as_bytes(), 0),
            Some(line) => Place::of(line.text.as_bytes(), 0).within(line.offset, line.number),
        }
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

impl Capture<'_> {
    /// Names and values.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|header| (header.name.as_str(), header.value.as_str()))
    }

    /// The place in the capture of an offset in the body; in the body, where that was encoded.
    pub(super) fn place(&self, offset: usize) -> Place {
        let place = Place::of(&self.body, offset);
        if self.encoded { place } else { place.within(self.offset, self.line) }
    }
}
