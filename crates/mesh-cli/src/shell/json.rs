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
            writer.write_all(escaped(steering).as_bytes())?;
            rest = &rest[at + steering.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }

    /// The same of a text that is JSON already. Ends of lines and tabs stand between its parts only.
    fn write_raw_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut text = String::with_capacity(fragment.len());
        for c in fragment.chars() {
            match c {
                '\n' | '\r' | '\t' => text.push(' '),
                _ if is_steering(c) => text.push_str(&escaped(c)),
                _ => text.push(c),
            }
        }
        writer.write_all(text.as_bytes())
    }
}

/// As JSON writes it. All that steers is of the plane that one `\u` reaches.
fn escaped(steering: char) -> String {
    format!("\\u{:04x}", u32::from(steering))
}

/// A JSON text as it is shown: without spaces between its parts, and with what steers a terminal escaped.
/// Numbers and the order of keys stay as they are.
pub(crate) fn printed(text: &RawValue) -> Box<RawValue> {
    let mut shown = String::with_capacity(text.get().len());
    let (mut inside, mut behind) = (false, false);
    for c in text.get().chars() {
        match c {
            _ if behind => behind = false,
            '\\' => behind = true,
            '"' => inside = !inside,
            _ if !inside && c.is_ascii_whitespace() => continue,
            _ => {}
        }
        if is_steering(c) {
            shown.push_str(&escaped(c));
        } else {
            shown.push(c);
        }
    }
    RawValue::from_string(shown).unwrap_or_else(|_| text.to_owned())
}
