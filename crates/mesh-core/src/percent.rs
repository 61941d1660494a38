//! `%HH` both ways. The crate `percent-encoding` reads a bad escape as plain text; a name that
//! comes from outside needs a refusal, so the reading half is here and strict.

use std::borrow::Cow;

/// Why a text is not percent-encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PercentError {
    BadEscape { offset: usize },
    NotUtf8 { offset: usize },
}

/// Escapes every byte that `keeps` does not keep, upper-case.
pub(crate) fn encode(text: &str, keeps: impl Fn(u8) -> bool) -> Cow<'_, str> {
    if text.bytes().all(&keeps) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        if keeps(byte) {
            escaped.push(byte.into());
        } else {
            escaped.push_str(percent_encoding::percent_encode_byte(byte));
        }
    }
    Cow::Owned(escaped)
}

/// Reads escapes of either case; borrowed where there are none.
pub(crate) fn decode(text: &str) -> Result<Cow<'_, str>, PercentError> {
    let bytes = text.as_bytes();
    let Some(first) = memchr::memchr(b'%', bytes) else {
        return Ok(Cow::Borrowed(text));
    };
    let mut decoded = Vec::with_capacity(bytes.len());
    decoded.extend_from_slice(&bytes[..first]);
    let mut offset = first;
    while let Some(&byte) = bytes.get(offset) {
        if byte == b'%' {
            let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
            let (Some(high), Some(low)) = (digit(offset + 1), digit(offset + 2)) else {
                return Err(PercentError::BadEscape { offset });
            };
            decoded.push((high << 4 | low) as u8);
            offset += 3;
        } else {
            decoded.push(byte);
            offset += 1;
        }
    }
    match String::from_utf8(decoded) {
        Ok(decoded) => Ok(Cow::Owned(decoded)),
        Err(error) => Err(PercentError::NotUtf8 {
            offset: raw_offset(text, error.utf8_error().valid_up_to()),
        }),
    }
}

/// Where in `text` the byte stands that is byte `decoded` once the escapes are read.
pub(crate) fn raw_offset(text: &str, decoded: usize) -> usize {
    let bytes = text.as_bytes();
    let mut offset = 0;
    for _ in 0..decoded {
        offset += if bytes.get(offset) == Some(&b'%') { 3 } else { 1 };
    }
    offset.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_escape_and_bad_utf8_say_where() {
        assert_eq!(decode("p%40ss%c3%A9").unwrap(), "p@ssé");
        assert_eq!(decode("a%zz"), Err(PercentError::BadEscape { offset: 1 }));
        assert_eq!(decode("a%4"), Err(PercentError::BadEscape { offset: 1 }));
        assert_eq!(decode("a%"), Err(PercentError::BadEscape { offset: 1 }));
        assert_eq!(decode("é%40%ff"), Err(PercentError::NotUtf8 { offset: 5 }));
        assert_eq!(decode("a%+1"), Err(PercentError::BadEscape { offset: 1 }));
    }
}
