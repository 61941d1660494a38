//! Where each field of a TOML file is.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Every field's path and the bytes it takes: from its key, or from itself in an array, to its end.
pub(super) struct Outline(Vec<Entry>);

struct Entry {
    path: String,
    span: Range<usize>,
    value: Range<usize>,
}

/// Within a longer path nothing is looked for: no field that these files have is that deep, and a
/// stranger's long key is not to be repeated for each of ten thousand others inside it.
const MAX_PATH: usize = 128;

impl Outline {
    pub(super) fn of(table: &DeTable<'_>) -> Self {
        let mut outline = Self(Vec::new());
        outline.table("", table);
        outline
    }

    /// The longest path whose bytes hold this offset; empty for none.
    pub(super) fn path_at(&self, offset: usize) -> &str {
        let holding = self.0.iter().filter(|entry| entry.span.contains(&offset));
        holding.max_by_key(|entry| entry.path.len()).map_or("", |entry| &entry.path)
    }

    /// The path of the value that takes exactly these bytes; empty for the whole file.
    pub(super) fn path_of(&self, value: &Range<usize>) -> &str {
        let entry = self.0.iter().find(|entry| entry.value == *value);
        entry.map_or("", |entry| &entry.path)
    }

    /// Every path and the bytes of its value.
    pub(super) fn into_spans(self) -> impl Iterator<Item = (String, Range<usize>)> {
        self.0.into_iter().map(|entry| (entry.path, entry.value))
    }

    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let dot = if prefix.is_empty() { "" } else { "." };
            let path = format!("{prefix}{dot}{}", key.get_ref());
            // The header of a later part of a table may stand before the table's own key.
            let start = key.span().start.min(value.span().start);
            self.value(path, start, value);
        }
    }

    fn value(&mut self, path: String, start: usize, value: &Spanned<DeValue<'_>>) {
        let span = value.span();
        match value.get_ref() {
            _ if path.len() > MAX_PATH => {}
            DeValue::Table(table) => self.table(&path, table),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.value(format!("{path}[{index}]"), item.span().start, item);
                }
            }
            _ => {}
        }
        self.0.push(Entry { path, span: start..span.end, value: span });
    }
}
