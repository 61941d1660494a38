//! What a capture of several messages has in it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{Explained, Kind};
use crate::explain::Page;
use crate::explain::page::Row;
use crate::shell::Answer;

/// How many there are of what.
#[derive(Debug, Default, Serialize)]
pub(super) struct Summary {
    messages: usize,
    good: usize,
    /// By what they are.
    kinds: BTreeMap<Kind, usize>,
    /// Those that the realm's guards refuse, by guard.
    refused: BTreeMap<&'static str, usize>,
}

impl Summary {
    pub(super) fn count(&mut self, explained: &Explained) {
        self.messages += 1;
        self.good += usize::from(explained.good);
        *self.kinds.entry(explained.kind).or_default() += 1;
        if let Some(guard) = explained.guards.as_ref().and_then(super::Judged::refused_by) {
            *self.refused.entry(guard).or_default() += 1;
        }
    }

    pub(super) fn is_good(&self) -> bool {
        self.good == self.messages
    }
}

impl Answer for Summary {
    const SCHEMA: &'static str = "mesh.envelopes/1";
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut page = Page::default();
        page.title(&format!("{} messages", self.messages));
        let told = match self.messages - self.good {
            0 => "all of them".to_owned(),
            bad => format!("{}, and {bad} not", self.good),
        };
        let mut rows = vec![Row::new("good", told)];
        let kinds = self.kinds.iter().enumerate();
        rows.extend(kinds.map(|(index, (kind, count))| {
            let label = if index == 0 { "what they are" } else { "" };
            Row::new(label, format!("{count} × {}", kind.words()))
        }));
        let refused = self.refused.iter().enumerate();
        rows.extend(refused.map(|(index, (guard, count))| {
            let label = if index == 0 { "refused by" } else { "" };
            Row::new(label, format!("{guard}, {count} of them"))
        }));
        page.rows(rows);
        page.fmt(f)
    }
}
