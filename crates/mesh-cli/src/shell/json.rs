//! Answers for programs.

use std::io;

use mesh_core::text::is_steering;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::value::RawValue;

/// An answer with what it is before its own keys.
#[derive(Serialize)]
struct Document<'a, A> {
    schema: &'a str,
    #[serde(flatten)]
    answer: &'a A,
}

/// One line of JSON, with `schema` first, in which nothing is that a terminal would obey.
pub(crate) fn line(schema: &str, answer: &impl Serialize) -> io::Result<String> {
    let mut line = Vec::new();
    Document { schema, answer }.serialize(&mut Serializer::with_formatter(&mut line, Printed))?;
    line.push(b'\n');
    String::from_utf8(line).map_err(io::Error::other)
}

/// JSON without spaces. What steers a terminal is escaped, beyond what JSON itself wants.
struct Printed;

impl Formatter for Printed {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut rest = fragment;
        while let Some((at, steering)) = rest.char_indices().find(|(_, c)| is_steering(*c)) {
            writer.write_all(&rest.as_bytes()[..at])?;
            // All of them are of the plane that one `\u` reaches.
            write!(writer, "\\u{:04x}", u32::from(steering))?;
            rest = &rest[at + steering.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

/// A JSON text as it is shown: without spaces between its parts, and with what steers a terminal escaped.
/// Numbers and the order of keys stay as they are.
pub(crate) fn printed(text: &RawValue) -> Box<RawValue> {
    let mut shown = String::with_capacity(text.get().len());
    let (mut inside, mut escaped) = (false, false);
    for c in text.get().chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => inside = !inside,
            _ if !inside && c.is_ascii_whitespace() => continue,
            _ => {}
        }
        if is_steering(c) {
            shown.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    RawValue::from_string(shown).unwrap_or_else(|_| text.to_owned())
}
