//! What a text can be, in one form for all that it can be.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::mention::Mention;
use super::who::Who;
use crate::explain::Page;
use crate::explain::page::Row;

/// One thing that a text can be.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Reading {
    /// Stable, for programs: `event`, `tool-call`, `mailbox`, …
    pub(super) kind: &'static str,
    /// In words.
    pub(super) meaning: String,
    /// The names and numbers in it.
    pub(super) parts: Parts,
    /// Subjects, filters and keys that mean the same, by what they are: `subject`, `filter`, …
    #[serde(skip_serializing_if = "BTreeMap::is_empty", serialize_with = "by_key")]
    pub(super) same: BTreeMap<&'static str, Vec<String>>,
    /// What keeps it, or what the consumer reads; absent, where nothing is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stream: Option<Stream>,
    /// What keeps some of it, of a pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) streams: Vec<&'static str>,
    /// Who reads it from the stream.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) consumers: Vec<Consumer>,
    /// Who may publish there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) publish: Vec<Who>,
    /// Who may subscribe there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) subscribe: Vec<Who>,
    /// How it travels on AMQP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) amqp: Option<Amqp>,
    /// Why a pattern has no counterpart on the other broker.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) untranslatable: Option<Refused>,
    /// What it covers, of a pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) covers: Vec<Cover>,
    /// Which modules of the mesh file have to do with it; absent without a mesh file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) modules: Option<Vec<Mention>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

/// Names and what they are, in order.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<(&'static str, String)>);

impl Serialize for Parts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (key(name), value)))
    }
}

/// A name for people as one for programs: `filter on NATS` as `filter_on_nats`.
fn key(name: &str) -> String {
    name.replace('\'', "").replace(' ', "_").to_lowercase()
}

fn by_key<S: serde::Serializer>(
    same: &BTreeMap<&'static str, Vec<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(same.iter().map(|(name, texts)| (key(name), texts)))
}

#[derive(Debug, Serialize)]
pub(super) struct Stream {
    pub(super) name: &'static str,
    /// `log`, `work-queue` or `newest-per-subject`.
    pub(super) retention: &'static str,
    #[serde(skip)]
    pub(super) words: &'static str,
}

#[derive(Debug, Serialize)]
pub(super) struct Consumer {
    /// Its name, or the form of it.
    pub(super) name: String,
    /// Where its deliveries arrive on NATS.
    pub(super) delivered: String,
    /// The queues that are the same on AMQP.
    pub(super) queues: Vec<String>,
    /// How often a message is tried; absent without a limit.
    pub(super) tries: Option<u32>,
    /// How many deliveries may be unsettled.
    pub(super) unsettled: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct Amqp {
    /// Empty for the one without a name.
    pub(super) exchange: &'static str,
    pub(super) key: String,
    /// Whether a message that reaches no queue is an error.
    pub(super) mandatory: bool,
    /// Whether the broker writes it to disk.
    pub(super) persistent: bool,
}

/// What stands between a pattern and its translation.
#[derive(Debug, Serialize)]
pub(super) struct Refused {
    /// In bytes, in the pattern.
    pub(super) offset: usize,
    /// The nearest pattern there.
    pub(super) nearest: String,
    /// What the nearest takes and the pattern does not.
    pub(super) counter_example: String,
}

/// Subjects of one kind that a pattern covers.
#[derive(Debug, Serialize)]
pub(super) struct Cover {
    /// Their shape.
    pub(super) shape: &'static str,
    /// `all` of them or `some`.
    pub(super) how: &'static str,
}

impl Reading {
    pub(super) fn new(kind: &'static str, meaning: impl Into<String>) -> Self {
        Self { kind, meaning: meaning.into(), ..Self::default() }
    }

    #[must_use]
    pub(super) fn part(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.parts.0.push((name, value.to_string()));
        self
    }

    #[must_use]
    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    #[must_use]
    pub(super) fn same(mut self, what: &'static str, text: impl fmt::Display) -> Self {
        self.same.entry(what).or_default().push(text.to_string());
        self
    }

    pub(super) fn show(&self, page: &mut Page) {
        page.good(&self.meaning);
        if !self.parts.0.is_empty() {
            page.gap();
            page.rows(self.parts.0.iter().map(|(name, value)| Row::new(name, value)));
        }
        if !self.same.is_empty() {
            page.section("The same elsewhere");
            let texts = self.same.iter().flat_map(|(what, texts)| {
                texts
                    .iter()
                    .enumerate()
                    .map(|(index, text)| (if index == 0 { *what } else { "" }, text))
            });
            page.rows(texts.map(|(what, text)| Row::new(what, text)));
        }
        self.show_kept(page);
        show_who(page, "May publish", &self.publish);
        show_who(page, "May subscribe", &self.subscribe);
        if let Some(Amqp { exchange, key, mandatory, persistent }) = &self.amqp {
            page.section("On AMQP");
            let exchange = if exchange.is_empty() { "the default one" } else { exchange };
            let unroutable = if *mandatory { "is an error" } else { "is no error" };
            page.rows([
                Row::new("exchange", exchange),
                Row::new("key", key),
                Row::new("reaching no queue", unroutable),
                Row::new("on disk", if *persistent { "yes" } else { "no" }),
            ]);
        }
        if !self.covers.is_empty() {
            page.section("What it covers");
            page.rows(self.covers.iter().map(|cover| Row::new(cover.how, cover.shape)));
        }
        self.show_modules(page);
        if !self.notes.is_empty() {
            page.gap();
        }
        for note in &self.notes {
            page.label("note", note);
        }
    }

    fn show_kept(&self, page: &mut Page) {
        if let Some(stream) = &self.stream {
            page.section("Stream");
            page.rows([Row::new(stream.name, stream.words)]);
        }
        if !self.streams.is_empty() {
            page.section("Streams that keep some of it");
            page.item(&self.streams.join(", "));
        }
        for Consumer { name, delivered, queues, tries, unsettled } in &self.consumers {
            let tries = match tries {
                Some(tries) => format!("{tries} tries"),
                None => "tries without a limit".to_owned(),
            };
            let queues = if queues.is_empty() {
                String::new()
            } else {
                format!("; on AMQP {}", queues.join(", "))
            };
            page.item(&format!(
                "consumer {name}: {tries}, at most {unsettled} unsettled; delivered at {delivered}{queues}"
            ));
        }
    }

    fn show_modules(&self, page: &mut Page) {
        let Some(modules) = &self.modules else {
            return;
        };
        page.section("In the mesh's files");
        if modules.is_empty() {
            page.item("no module has to do with it");
        }
        for mention in modules {
            page.item(&mention.to_string());
        }
    }
}

fn show_who(page: &mut Page, what: &str, who: &[Who]) {
    if !who.is_empty() {
        page.section(what);
        for who in who {
            page.item(&who.to_string());
        }
    }
}
