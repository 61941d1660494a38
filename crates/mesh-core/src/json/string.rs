//! The inside of strings: runs of plain bytes, escapes, and both directions between text and token.

use std::borrow::Cow;

use super::{JsonError, JsonProblem};

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// The first offset from `at` on whose byte is `"`, `\` or a control character; the length if none.
#[inline]
pub(super) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    // Eight bytes a step. The lowest flagged byte is always a true one; those above may not be.
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u64::from_le_bytes(*chunk);
        let zero = |w: u64| w.wrapping_sub(ONES) & !w;
        let quote = zero(word ^ (ONES * u64::from(b'"')));
        let slash = zero(word ^ (ONES * u64::from(b'\\')));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (quote | slash | control) & HIGHS;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

/// The character that the escape at `at` (its backslash) stands for, and the offset after it.
pub(super) fn escape(bytes: &[u8], at: usize) -> Result<(char, usize), JsonError> {
    let refused = |problem| Err(JsonError::new(problem, at));
    let c = match bytes.get(at + 1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let high = match hex4(bytes, at + 2) {
                Some(unit) => unit,
                None => return refused(JsonProblem::BadEscape),
            };
            if let Some(c) = char::from_u32(high) {
                return Ok((c, at + 6));
            }
            let low = match bytes.get(at + 6..at + 8) {
                Some(br"\u") => hex4(bytes, at + 8),
                _ => None,
            };
            // Two low halves come out beyond the last character.
            return low
                .filter(|low| (0xdc00..=0xdfff).contains(low))
                .and_then(|low| char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)))
                .map_or_else(|| refused(JsonProblem::LoneSurrogate), |c| Ok((c, at + 12)));
        }
        Some(_) => return refused(JsonProblem::BadEscape),
        None => return Err(JsonError::new(JsonProblem::UnexpectedEnd, bytes.len())),
    };
    Ok((c, at + 2))
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)?
        .iter()
        .try_fold(0, |unit, &byte| Some(unit << 4 | char::from(byte).to_digit(16)?))
}

/// The text of a checked string token, quotes and all.
pub(super) fn unescape(token: &str) -> Cow<'_, str> {
    let inner = token.get(1..token.len() - 1).unwrap_or_default();
    let bytes = inner.as_bytes();
    let mut next = plain_end(bytes, 0);
    if next == inner.len() {
        return Cow::Borrowed(inner);
    }
    let mut text = String::with_capacity(inner.len());
    let mut start = 0;
    while next < inner.len() {
        text.push_str(&inner[start..next]);
        // The token was checked, so the escape is good and `start` moves on.
        start = match escape(bytes, next) {
            Ok((c, after)) => {
                text.push(c);
                after
            }
            Err(_) => next + 1,
        };
        next = plain_end(bytes, start);
    }
    text.push_str(&inner[start..]);
    Cow::Owned(text)
}

/// Where in `token`, a checked string token that more may follow, the byte stands that is byte
/// `decoded` of the text.
pub(crate) fn token_offset(token: &[u8], decoded: usize) -> usize {
    let (mut at, mut passed) = (1, 0);
    while passed < decoded {
        let (c, after) = match token.get(at) {
            None | Some(b'"') => break,
            Some(b'\\') => match escape(token, at) {
                Ok((c, after)) => (c.len_utf8(), after),
                Err(_) => break,
            },
            Some(_) => (1, at + 1),
        };
        passed += c;
        // Inside a character of several bytes that is escaped as a whole.
        if passed > decoded {
            break;
        }
        at = after;
    }
    at.min(token.len())
}

/// Appends `text` as a string token.
pub(super) fn write(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.push(b'"');
    let mut start = 0;
    loop {
        let end = plain_end(bytes, start);
        out.extend_from_slice(&bytes[start..end]);
        let Some(&byte) = bytes.get(end) else { break };
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            b'\t' => out.extend_from_slice(br"\t"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(br"\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
        start = end + 1;
    }
    out.push(b'"');
}
