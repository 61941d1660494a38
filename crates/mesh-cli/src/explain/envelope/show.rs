//! A captured message for a person.

use std::fmt;

use super::Explained;
use crate::explain::Page;
use crate::explain::page::Row;

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut page = Page::default();
        let subject = self.subject.as_ref().map(|subject| format!(", sent to {subject}"));
        let (number, line) = (self.number, self.line);
        page.title(&format!("Message {number}, line {line}{}", subject.unwrap_or_default()));
        self.show(&mut page);
        page.gap();
        page.fmt(f)
    }
}

impl Explained {
    /// What is not good about one that can be read.
    fn refused_because(&self) -> String {
        match (&self.guards, &self.unhandled) {
            (_, Some(why)) => why.clone(),
            (Some(judged), None) => judged.refusal(),
            (None, None) => "refused".to_owned(),
        }
    }

    fn show(&self, page: &mut Page) {
        let kind = self.kind.words();
        match &self.fault {
            Some(fault) => {
                page.bad(&format!(
                    "{}, line {} column {}",
                    fault.what, fault.place.line, fault.place.column
                ));
                fault.show(page);
                page.label("why", &self.why);
            }
            None if self.good => page.good(&format!("{kind}: {}", self.why)),
            None => {
                page.bad(&format!("{kind}, and {}", self.refused_because()));
                page.label("why", &self.why);
            }
        }
        if !self.fields.is_empty() {
            page.section("What it says");
            let fields = self.fields.iter();
            page.rows(
                fields.map(|field| Row::new(field.name, &field.value).meaning(&field.meaning)),
            );
        }
        if !self.unknown.is_empty() {
            let names = self.unknown.join(", ");
            page.label("unknown", &format!("{names}: kept, and passed on"));
        }
        self.show_what_follows(page);
        if let Some(judged) = &self.guards {
            page.section("At the realm's edge");
            page.prose(&judged.words());
            let steps = judged.steps().iter();
            page.rows(steps.map(|step| Row::new(step.guard, step.finding)));
        }
        if !self.notes.is_empty() {
            page.gap();
        }
        for note in &self.notes {
            page.label("note", note);
        }
    }

    fn show_what_follows(&self, page: &mut Page) {
        let mut rows = Vec::new();
        if let Some(replay) = &self.replay {
            let pair = format!("{} of {}", replay.id, replay.from);
            rows.push(Row::new("replay key", pair).meaning("marks it as seen"));
        }
        if let Some(key) = &self.principal_key {
            rows.push(Row::new("principal key", key));
        }
        if let Some(expiry) = &self.expiry {
            rows.push(Row::new("expires", expiry.words()));
        }
        if let Some(reply) = &self.reply {
            rows.push(Row::new("answer wanted at", reply));
        }
        if !rows.is_empty() {
            page.section("What follows");
            page.rows(rows);
        }
        if let Some(answer) = &self.answer {
            page.section("Where its answer goes");
            page.rows(
                answer
                    .rows()
                    .map(|(label, value, meaning)| Row::new(label, value).meaning(meaning)),
            );
        }
    }
}
