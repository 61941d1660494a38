//! Writing TOML by hand, so that what a manifest means is not asked of a library that reads it too.

use mesh_core::json::RawJson;
use mesh_core::manifest::{Problem, Problems};
use proptest::prelude::*;
use proptest::sample::select;

use crate::fixtures::valid;

/// Text in TOML and what it was read as.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "a text and its value")]
pub struct TomlText<T> {
    /// The text.
    pub text: String,
    /// What `parse` makes of it.
    pub value: T,
}

impl<T> TomlText<T> {
    /// `text`, which is meant to have no mistake: a strategy that made one must be found out, not
    /// draw again.
    #[track_caller]
    pub(super) fn sound(text: String, parse: impl Fn(&str) -> Result<T, Problems>) -> Self {
        let value = valid(parse(&text).map_err(|problems| told(&problems)), &text);
        Self { text, value }
    }
}

/// Mistakes as one text.
pub(super) fn told(problems: &[Problem]) -> String {
    let problems = problems.iter().map(ToString::to_string);
    problems.collect::<Vec<_>>().join("; ")
}

/// Keys and their values in TOML.
pub(super) type Table = Vec<(&'static str, String)>;

/// How a text is laid out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Tables of an array as `[[…]]`, or in line.
    sections: bool,
    /// After each line.
    end: &'static str,
}

/// Any layout: in line or in sections, with comments, empty lines or the ends of lines of Windows.
pub(super) fn layout() -> impl Strategy<Value = Layout> {
    let ends = select(&["\n", "\n\n", "\r\n", " # a comment\n"][..]);
    (any::<bool>(), ends).prop_map(|(sections, end)| Layout { sections, end })
}

/// A text as a basic string: escapes as JSON has them, and DEL, which TOML wants escaped too.
pub(super) fn quoted(text: &str) -> String {
    RawJson::string(text).as_str().replace('\u{7f}', "\\u007f")
}

/// An array of texts.
pub(super) fn strings<T: ToString>(texts: impl IntoIterator<Item = T>) -> String {
    let texts = texts.into_iter().map(|text| quoted(&text.to_string()));
    format!("[{}]", texts.collect::<Vec<_>>().join(", "))
}

/// A file of single values, then arrays of tables.
pub(super) fn document(
    layout: Layout,
    values: &Table,
    arrays: &[(&'static str, Vec<Table>)],
) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push_str(layout.end);
    };
    for (key, value) in values {
        line(format!("{key} = {value}"));
    }
    for (name, tables) in arrays {
        if !layout.sections {
            let tables: Vec<String> = tables.iter().map(in_line).collect();
            line(format!("{name} = [{}]", tables.join(", ")));
        }
    }
    for (name, tables) in arrays.iter().filter(|_| layout.sections) {
        for table in tables {
            line(format!("[[{name}]]"));
            for (key, value) in table {
                line(format!("{key} = {value}"));
            }
        }
    }
    text
}

fn in_line(table: &Table) -> String {
    let pairs = table.iter().map(|(key, value)| format!("{key} = {value}"));
    format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}
