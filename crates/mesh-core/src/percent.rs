//! Percent-decoding that refuses what is not an escape, and says where.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// What is wrong with percent-encoded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PercentProblem {
    /// A `%` without two hexadecimal digits.
    Escape,
    /// The decoded bytes are not UTF-8.
    Utf8,
}

/// Decodes `%HH` of either case; the error is the problem and its byte offset in `text`.
pub(crate) fn decode(text: &str) -> Result<Cow<'_, str>, (PercentProblem, usize)> {
    let bytes = text.as_bytes();
    for offset in memchr::memchr_iter(b'%', bytes) {
        let digits = bytes.get(offset + 1..offset + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            return Err((PercentProblem::Escape, offset));
        }
    }
    percent_decode_str(text).decode_utf8().map_err(|error| {
        // Walk the text until as many decoded bytes as were valid have gone by.
        let mut offset = 0;
        for _ in 0..error.valid_up_to() {
            offset += if bytes[offset] == b'%' { 3 } else { 1 };
        }
        (PercentProblem::Utf8, offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_escape_and_bad_utf8_say_where() {
        assert_eq!(decode("p%40ss%c3%A9").unwrap(), "p@ssé");
        assert_eq!(decode("a%zz"), Err((PercentProblem::Escape, 1)));
        assert_eq!(decode("a%4"), Err((PercentProblem::Escape, 1)));
        assert_eq!(decode("a%"), Err((PercentProblem::Escape, 1)));
        assert_eq!(decode("é%40%ff"), Err((PercentProblem::Utf8, 5)));
        assert_eq!(decode("a%+1"), Err((PercentProblem::Escape, 1)));
    }
}
