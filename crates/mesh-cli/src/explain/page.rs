//! A page of text for a person. What others wrote reaches the terminal through here alone, escaped.

use std::fmt::{self, Write as _};

use mesh_core::text::Printable;
use unicode_width::UnicodeWidthStr as _;

use super::Place;
use crate::shell::style::{ERROR, FAINT, GOOD, HINT, STRONG};

/// The most columns of a line that is put together here.
const WIDTH: usize = 100;

/// Lines that were put together, ready to be printed.
#[derive(Debug, Default)]
pub(crate) struct Page(String);

/// A row of a table: what it is called, what it is, and what that means.
pub(crate) struct Row<'a> {
    label: &'a str,
    value: String,
    meaning: &'a str,
}

impl<'a> Row<'a> {
    pub(crate) fn new(label: &'a str, value: impl fmt::Display) -> Self {
        Self { label, value: value.to_string(), meaning: "" }
    }

    #[must_use]
    pub(crate) fn meaning(self, meaning: &'a str) -> Self {
        Self { meaning, ..self }
    }
}

impl Page {
    /// What it is about.
    pub(crate) fn title(&mut self, text: &str) {
        self.push(format_args!("{STRONG}{}{STRONG:#}\n", Printable(text)));
    }

    pub(crate) fn good(&mut self, text: &str) {
        self.push(format_args!("{GOOD}good{GOOD:#}: {}\n", Printable(text)));
    }

    pub(crate) fn bad(&mut self, text: &str) {
        self.push(format_args!("{ERROR}not good{ERROR:#}: {}\n", Printable(text)));
    }

    /// An empty line, and what the following is.
    pub(crate) fn section(&mut self, name: &str) {
        self.push(format_args!("\n{STRONG}{}{STRONG:#}\n", Printable(name)));
    }

    pub(crate) fn gap(&mut self) {
        self.0.push('\n');
    }

    /// Prose of our own with texts of others in it, in lines that fit a screen.
    pub(crate) fn prose(&mut self, text: &str) {
        self.wrapped("", "", text);
    }

    /// An item of a list.
    pub(crate) fn item(&mut self, text: &str) {
        self.wrapped("  - ", "    ", text);
    }

    pub(crate) fn label(&mut self, label: &str, text: &str) {
        self.wrapped(&format!("{FAINT}{label}{FAINT:#}: "), "", text);
    }

    pub(crate) fn hint(&mut self, text: &str) {
        self.push(format_args!("{HINT}hint{HINT:#}: {}\n", Printable(text)));
    }

    /// A line with a caret below it, and what is there.
    pub(crate) fn caret(&mut self, place: &Place, what: &str) {
        let blank = " ".repeat(place.caret);
        let what = Printable(what);
        self.push(format_args!("\n  {}\n  {blank}{ERROR}^ {what}{ERROR:#}\n\n", place.shown));
    }

    /// A table; of each column the values begin below each other.
    pub(crate) fn rows<'a>(&mut self, rows: impl IntoIterator<Item = Row<'a>>) {
        let rows: Vec<Row<'_>> = rows.into_iter().collect();
        let labels = rows.iter().map(|row| row.label.width()).max().unwrap_or_default();
        let short = rows.iter().map(|row| row.value.width()).filter(|width| *width <= 40);
        let values = short.max().unwrap_or_default();
        for Row { label, value, meaning } in rows {
            let value = Printable(&value).to_string();
            let label = Printable(label);
            let head = format!("  {FAINT}{label}{FAINT:#}");
            let gap = " ".repeat((labels + 2).saturating_sub(label.to_string().width()));
            self.push(format_args!("{head}{gap}{value}"));
            if !meaning.is_empty() {
                let pad = values.saturating_sub(value.width()) + 2;
                if value.width() <= values {
                    self.push(format_args!("{}{FAINT}{meaning}{FAINT:#}", " ".repeat(pad)));
                } else {
                    let under = " ".repeat(labels + 4);
                    self.push(format_args!("\n{under}{FAINT}{meaning}{FAINT:#}"));
                }
            }
            self.0.push('\n');
        }
    }

    fn wrapped(&mut self, first: &str, then: &str, text: &str) {
        let mut line = first.to_owned();
        let mut used = anstream::adapter::strip_str(first).to_string().width();
        let mut empty = true;
        for word in Printable(text).to_string().split(' ') {
            if !empty && used + 1 + word.width() > WIDTH {
                self.push(format_args!("{line}\n"));
                line = then.to_owned();
                used = then.width();
                empty = true;
            }
            if !empty {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += word.width();
            empty = false;
        }
        self.push(format_args!("{line}\n"));
    }

    fn push(&mut self, text: fmt::Arguments<'_>) {
        // A string takes whatever is written.
        let _ = self.0.write_fmt(text);
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
