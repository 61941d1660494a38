//! A text as Go's `%q` writes it: between `"`, with `\` before what is not printable.

use std::borrow::Cow;

/// Reads one from the front of `text`; answers it and what comes after it. Borrowed unless something in
/// it is escaped.
pub(super) fn read(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let inside = text.strip_prefix('"')?;
    let end = inside.find(['"', '\\'])?;
    if inside[end..].starts_with('"') {
        return Some((Cow::Borrowed(&inside[..end]), &inside[end + 1..]));
    }
    let mut bytes = inside.as_bytes()[..end].to_vec();
    let mut rest = &inside[end..];
    loop {
        let end = rest.find(['"', '\\'])?;
        bytes.extend_from_slice(&rest.as_bytes()[..end]);
        rest = &rest[end..];
        if let Some(rest) = rest.strip_prefix('"') {
            // `\x` stands for a byte that was part of no character.
            let text = match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            };
            return Some((Cow::Owned(text), rest));
        }
        rest = escape(&rest[1..], &mut bytes)?;
    }
}

/// Reads what follows a `\`, appends what it stands for, and answers what comes after it.
fn escape<'a>(text: &'a str, bytes: &mut Vec<u8>) -> Option<&'a str> {
    let mut chars = text.chars();
    let digits = match chars.next()? {
        'a' => return push(bytes, 0x07, chars.as_str()),
        'b' => return push(bytes, 0x08, chars.as_str()),
        't' => return push(bytes, b'\t', chars.as_str()),
        'n' => return push(bytes, b'\n', chars.as_str()),
        'v' => return push(bytes, 0x0b, chars.as_str()),
        'f' => return push(bytes, 0x0c, chars.as_str()),
        'r' => return push(bytes, b'\r', chars.as_str()),
        '"' => return push(bytes, b'"', chars.as_str()),
        '\\' => return push(bytes, b'\\', chars.as_str()),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return None,
    };
    let (hex, rest) = chars.as_str().split_at_checked(digits)?;
    if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(hex, 16).ok()?;
    match u8::try_from(value) {
        Ok(byte) if digits == 2 => bytes.push(byte),
        _ => {
            let char = char::from_u32(value)?;
            bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Some(rest)
}

fn push<'a>(bytes: &mut Vec<u8>, byte: u8, rest: &'a str) -> Option<&'a str> {
    bytes.push(byte);
    Some(rest)
}
