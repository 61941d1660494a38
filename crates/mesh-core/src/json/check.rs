//! The check that a text is one JSON value, without building it.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{JsonError, JsonProblem, MAX_DEPTH};

/// Checks the whole of `bytes` and answers them as text.
pub(super) fn check(bytes: &[u8]) -> Result<&str, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|found| JsonError {
        problem: JsonProblem::Utf8,
        offset: found.valid_up_to(),
    })?;
    if text.starts_with('\u{feff}') {
        return Err(JsonError {
            problem: JsonProblem::ByteOrderMark,
            offset: 0,
        });
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    IgnoredAny::deserialize(&mut reader).map_err(|error| located(text, &error))?;
    reader.end().map_err(|error| JsonError {
        problem: JsonProblem::Trailing,
        ..located(text, &error)
    })?;
    depth_and_surrogates(bytes)?;
    Ok(text)
}

/// serde_json's line and column as a byte offset; its message, which may quote the text, is left
/// behind.
pub(super) fn located(text: &str, error: &serde_json::Error) -> JsonError {
    let line = error.line().saturating_sub(1);
    let start = match line.checked_sub(1) {
        None => 0,
        Some(before) => memchr::memchr_iter(b'\n', text.as_bytes())
            .nth(before)
            .map_or(0, |newline| newline + 1),
    };
    let offset = (start + error.column().saturating_sub(1)).min(text.len());
    let problem = if error.is_eof() {
        JsonProblem::Truncated
    } else {
        JsonProblem::Syntax
    };
    JsonError { problem, offset }
}

/// serde_json skips over a value without these two checks. `bytes` are valid JSON.
fn depth_and_surrogates(bytes: &[u8]) -> Result<(), JsonError> {
    let refused = |problem, offset| Err(JsonError { problem, offset });
    let mut depth = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return refused(JsonProblem::TooDeep, at);
                }
            }
            b']' | b'}' => depth -= 1,
            b'"' => {
                at += 1;
                loop {
                    match memchr::memchr2(b'"', b'\\', &bytes[at..]) {
                        Some(skipped) => at += skipped,
                        None => return Ok(()),
                    }
                    if bytes[at] == b'"' {
                        break;
                    }
                    at += match unit(bytes, at) {
                        None => 2,
                        Some(0xDC00..=0xDFFF) => return refused(JsonProblem::LoneSurrogate, at),
                        Some(0xD800..=0xDBFF) => match unit(bytes, at + 6) {
                            Some(0xDC00..=0xDFFF) => 12,
                            _ => return refused(JsonProblem::LoneSurrogate, at),
                        },
                        Some(_) => 6,
                    };
                }
            }
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The UTF-16 unit of an escape `\uHHHH` at `at`, if that is one.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
