//! The digest that nats-server gives for a configuration: SHA-256 of what it has read, as Go's encoder
//! writes JSON: keys sorted, `<`, `>` and `&` escaped, a newline at the end.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use super::{Map, Value};
use crate::folder::Digest;

pub(super) fn digest(root: &Map) -> Digest {
    let mut hash = Sha256::new();
    // A hash takes whatever is written.
    let _ = map(root, &mut hash).and_then(|()| hash.write_all(b"\n"));
    Digest::from_hash(hash)
}

fn value(value: &Value, out: &mut impl Write) -> io::Result<()> {
    match value {
        Value::Text(text) => string(text, out),
        Value::Flag(flag) => write!(out, "{flag}"),
        Value::Integer(integer) => write!(out, "{integer}"),
        Value::Real(real) => write!(out, "{real}"),
        Value::Map(inner) => map(inner, out),
        Value::List(list) => {
            let mut before = "[";
            for node in list {
                out.write_all(before.as_bytes())?;
                self::value(&node.value, out)?;
                before = ",";
            }
            out.write_all(if list.is_empty() { b"[]" } else { b"]" })
        }
    }
}

fn map(map: &Map, out: &mut impl Write) -> io::Result<()> {
    let mut sorted: Vec<_> = map.iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    out.write_all(b"{")?;
    for (index, (key, node)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        string(key, out)?;
        out.write_all(b":")?;
        value(&node.value, out)?;
    }
    out.write_all(b"}")
}

fn string(text: &str, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"\"")?;
    let mut rest = text;
    while let Some(at) = rest.find(is_escaped) {
        let (plain, special) = rest.split_at(at);
        out.write_all(plain.as_bytes())?;
        let mut chars = special.chars();
        match chars.next() {
            Some(c @ ('"' | '\\')) => write!(out, "\\{c}")?,
            Some('\n') => out.write_all(b"\\n")?,
            Some('\r') => out.write_all(b"\\r")?,
            Some('\t') => out.write_all(b"\\t")?,
            Some(c) => write!(out, "\\u{:04x}", u32::from(c))?,
            None => {}
        }
        rest = chars.as_str();
    }
    out.write_all(rest.as_bytes())?;
    out.write_all(b"\"")
}

fn is_escaped(c: char) -> bool {
    matches!(c, '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}') || c < ' '
}
