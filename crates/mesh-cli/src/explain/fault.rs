//! What is wrong with a text: where, by which rule, and what to write instead.

use serde::Serialize;

use super::{Page, Place};

/// Why a text is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Fault {
    /// Stable, for programs: `port`, `duplicate-key`, …
    pub(crate) code: &'static str,
    /// In words.
    pub(crate) what: String,
    /// Where.
    #[serde(flatten)]
    pub(crate) place: Place,
    /// The rule that it breaks.
    pub(crate) rule: String,
    /// What to do.
    pub(crate) hints: Vec<String>,
    /// Texts that are near and good; each was read before it is told.
    pub(crate) instead: Vec<String>,
}

impl Fault {
    pub(crate) fn new(
        code: &'static str,
        what: impl Into<String>,
        place: Place,
        rule: impl Into<String>,
    ) -> Self {
        let (hints, instead) = (Vec::new(), Vec::new());
        let what = without_offset(&what.into());
        Self { code, what, place, rule: rule.into(), hints, instead }
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// The line with a caret, then the rule and what to do.
    pub(crate) fn show(&self, page: &mut Page) {
        page.caret(&self.place, &self.what);
        page.label("rule", &self.rule);
        for hint in &self.hints {
            page.hint(hint);
        }
        for (index, text) in self.instead.iter().enumerate() {
            page.hint(&format!("{} {text}", if index == 0 { "write" } else { "or" }));
        }
    }
}

/// An error's words without the offset that they have: it counts from the beginning of a part, and
/// the place is told in another way.
fn without_offset(what: &str) -> String {
    match what.split_once(" at offset ") {
        None => what.to_owned(),
        Some((before, after)) => {
            format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
    }
}
