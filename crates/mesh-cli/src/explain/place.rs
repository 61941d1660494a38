//! A byte offset as people find it: line, column, and a caret below the line.

use mesh_core::text::Printable;
use serde::Serialize;
use unicode_width::UnicodeWidthStr as _;

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Place {
    /// In bytes, from 0.
    pub(crate) offset: usize,
    /// From 1.
    pub(crate) line: usize,
    /// In characters, from 1.
    pub(crate) column: usize,
    /// Of a long line the part around the place; what steers a terminal is escaped.
    #[serde(skip)]
    pub(crate) shown: String,
    /// How many columns of a terminal stand before the place.
    #[serde(skip)]
    pub(crate) caret: usize,
}

/// How many characters of a line are shown before and after the place.
const BEFORE: usize = 60;
const AFTER: usize = 40;

impl Place {
    /// The place at `offset`; the end, where `bytes` are fewer. Inside a character, that character's.
    pub(crate) fn of(bytes: &[u8], offset: usize) -> Self {
        let mut offset = offset.min(bytes.len());
        while offset > 0 && is_inside(bytes, offset) {
            offset -= 1;
        }
        let before = bytes.get(..offset).unwrap_or_default();
        let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |newline| newline + 1);
        let after = bytes.get(offset..).unwrap_or_default();
        let end = after.iter().position(|b| *b == b'\n').unwrap_or(after.len());
        let head = String::from_utf8_lossy(before.get(start..).unwrap_or_default());
        // Four bytes a character at most, so this many hold all that is shown.
        let tail = after.get(..end.min(4 * AFTER + 4)).unwrap_or_default();
        let tail = String::from_utf8_lossy(tail);
        let characters = head.chars().count();
        let mut shown = String::new();
        if characters > BEFORE {
            shown.push('…');
        }
        let kept: String = head.chars().skip(characters.saturating_sub(BEFORE)).collect();
        shown.push_str(&Printable(&kept).to_string());
        let caret = shown.width();
        let kept: String = tail.chars().take(AFTER).collect();
        shown.push_str(&Printable(&kept).to_string());
        if tail.chars().count() > AFTER || end > tail.len() {
            shown.push('…');
        }
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        Self { offset, line, column: characters + 1, shown, caret }
    }

    /// The same place in a text of which this one is the part from `offset` on, at the beginning of
    /// line `line`.
    pub(crate) fn within(self, offset: usize, line: usize) -> Self {
        Self { offset: self.offset + offset, line: self.line + line - 1, ..self }
    }
}

/// Whether the byte goes on with a character that is whole.
fn is_inside(bytes: &[u8], offset: usize) -> bool {
    let from = offset.saturating_sub(3);
    (from..offset).any(|start| {
        let rest = bytes.get(start..).unwrap_or_default();
        let most = rest.get(..rest.len().min(4)).unwrap_or_default();
        let valid = match std::str::from_utf8(most) {
            Ok(text) => text,
            Err(error) => {
                let valid = most.get(..error.valid_up_to()).unwrap_or_default();
                std::str::from_utf8(valid).unwrap_or_default()
            }
        };
        valid.chars().next().is_some_and(|first| start + first.len_utf8() > offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str, offset: usize) -> (usize, usize, usize, String, usize) {
        let Place { offset, line, column, shown, caret } = Place::of(text.as_bytes(), offset);
        (offset, line, column, shown, caret)
    }

    #[test]
    fn a_place_has_a_line_a_column_and_a_caret() {
        assert_eq!(place("", 7), (0, 1, 1, String::new(), 0));
        assert_eq!(place("ab\ncd", 4), (4, 2, 2, "cd".to_owned(), 1));
        assert_eq!(place("ab\n", 3), (3, 2, 1, String::new(), 0));
        // Two columns wide, and three bytes long.
        assert_eq!(place("日x", 3), (3, 1, 2, "日x".to_owned(), 2));
        assert_eq!(place("日x", 2), (0, 1, 1, "日x".to_owned(), 0));
    }

    #[test]
    fn what_steers_a_terminal_is_escaped_and_the_caret_knows() {
        let (.., shown, caret) = place("a\u{1b}[1m\u{202e}b", 5);
        assert_eq!((shown.as_str(), caret), (r"a\u{1b}[1m\u{202e}b", 10));
    }

    #[test]
    fn of_a_long_line_the_part_around_is_shown() {
        let text = format!("{}!{}", "é".repeat(1000), "x".repeat(100_000));
        let (_, _, column, shown, caret) = place(&text, 2000);
        assert_eq!(column, 1001);
        assert_eq!(shown.chars().count(), 1 + BEFORE + AFTER + 1);
        assert_eq!(shown.chars().nth(caret), Some('!'));
    }

    #[test]
    fn bytes_that_are_no_text_have_places_too() {
        for bytes in [&b"\xff\xfe\n\x80"[..], b"a\xe6\x97", b"\xf0\x9f\x98\x80"] {
            for offset in 0..=bytes.len() + 1 {
                let place = Place::of(bytes, offset);
                assert!(place.offset <= bytes.len() && place.line <= 2 && place.column >= 1);
            }
        }
    }
}
