//! `mesh uri explain URI`.

mod near;
mod problem;

pub(super) use near::near_paths;

#[cfg(test)]
mod tests;

use std::fmt;

use clap::{Args, Subcommand};
use mesh_core::mx::escape;
use mesh_core::mx::{MailboxKind, MxUri, Plane, Shard, Topic};
use mesh_core::topology::AmqpRoute;
use serde::Serialize;

use super::page::Row;
use super::{Fault, Page};
use crate::shell::{Answer, Exit, Failure, Shell};

/// URIs of what realms accept and emit: `matrix://…`.
#[derive(Debug, Args)]
pub(crate) struct Uri {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say what a URI means, and which topics follow from it.
    ///
    /// Of one that is not good: which character, by which rule, and what to write instead. Exits 1
    /// then.
    Explain {
        /// The URI, such as matrix://acme.com/project/daemon.project.accepts.scan
        uri: String,
    },
}

pub(crate) fn run(asked: &Uri, shell: &mut Shell) -> Result<Exit, Failure> {
    let Verb::Explain { uri } = &asked.verb;
    let explained = explain(uri);
    shell.answer(&explained)?;
    Ok(if explained.good { Exit::Good } else { Exit::Fault })
}

/// What a URI means, or why it means nothing.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    /// As it was given.
    uri: String,
    good: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    means: Option<Meaning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
}

#[derive(Debug, Serialize)]
struct Meaning {
    form: Form,
    /// Whether it was written as it is printed.
    canonical: bool,
    realm: String,
    mounts: Vec<String>,
    component: String,
    plane: &'static str,
    message: String,
    /// All but the realm, as envelopes have it.
    path: String,
    compact: String,
    segmented: String,
    /// Each run of escapes.
    escapes: Vec<Escape>,
    topics: Topics,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    Compact,
    Segmented,
}

#[derive(Debug, Serialize)]
struct Escape {
    /// In bytes.
    offset: usize,
    written: String,
    read: String,
}

/// What is sent where, for a message to this URI.
#[derive(Debug, Serialize)]
struct Topics {
    /// Inside the realm; nothing, where realm and path are too long together.
    internal: Option<String>,
    /// The exchange and the key that carry the internal topic on AMQP.
    amqp: Option<Amqp>,
    /// Where other realms put an MXENV/1 for it.
    mailbox: String,
    /// Where realms put a legacy envelope for it.
    legacy_mailbox: String,
}

#[derive(Debug, Serialize)]
struct Amqp {
    exchange: &'static str,
    key: String,
}

pub(crate) fn explain(text: &str) -> Explained {
    let uri = text.to_owned();
    match MxUri::parse(text) {
        Ok(parsed) => {
            let means = Some(meaning(text, &parsed));
            Explained { uri, good: true, means, fault: None }
        }
        Err(error) => {
            let fault = Some(problem::fault(text, error));
            Explained { uri, good: false, means: None, fault }
        }
    }
}

fn meaning(text: &str, uri: &MxUri<'_>) -> Meaning {
    let (realm, path) = (uri.realm().to_name(), uri.path());
    let compact = uri.to_string();
    let internal = Topic::internal(&realm, path).ok();
    // A bare `-` is the delimiter, and nothing else is one.
    let segmented = text.split('/').skip(3).any(|segment| segment == "-");
    let owned = str::to_owned;
    Meaning {
        form: if segmented { Form::Segmented } else { Form::Compact },
        canonical: text == compact,
        realm: owned(realm.as_str()),
        mounts: path.mounts().map(owned).collect(),
        component: owned(path.component()),
        plane: path.plane().as_str(),
        message: owned(path.message()),
        path: owned(path.as_str()),
        segmented: uri.segmented().to_string(),
        compact,
        escapes: escapes(text),
        topics: Topics {
            amqp: internal.as_ref().map(|topic| {
                let route = AmqpRoute::of(topic);
                Amqp { exchange: route.exchange.as_str(), key: route.key }
            }),
            internal: internal.map(|topic| owned(topic.as_str())),
            mailbox: owned(MailboxKind::Mx(Shard::default()).subject(&realm).as_str()),
            legacy_mailbox: owned(MailboxKind::Legacy.subject(&realm).as_str()),
        },
    }
}

/// The runs of `%HH` in a URI that was read.
fn escapes(text: &str) -> Vec<Escape> {
    let mut found = Vec::new();
    let mut next = 0;
    while let Some(at) = text.get(next..).and_then(|rest| rest.find('%')) {
        let offset = next + at;
        let mut end = offset;
        while text.as_bytes().get(end) == Some(&b'%') {
            end = (end + 3).min(text.len());
        }
        let written = text.get(offset..end).unwrap_or_default();
        let read = escape::decode(written).unwrap_or_default().into_owned();
        found.push(Escape { offset, written: written.to_owned(), read });
        next = end;
    }
    found
}

impl Answer for Explained {
    const SCHEMA: &'static str = "mesh.uri/1";
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut page = Page::default();
        page.title(&super::cut(&self.uri, 300));
        if let Some(fault) = &self.fault {
            page.bad(&format!("no MXURI, {} at offset {}", fault.what, fault.place.offset));
            fault.show(&mut page);
        }
        if let Some(means) = &self.means {
            means.show(&mut page);
        }
        page.fmt(f)
    }
}

impl Meaning {
    fn show(&self, page: &mut Page) {
        let form = match self.form {
            Form::Compact => "compact",
            Form::Segmented => "segmented",
        };
        page.good(&match self.canonical {
            true => format!("an MXURI, {form}, as it is printed"),
            false => format!("an MXURI, {form}; it is printed as {}", self.compact),
        });
        page.section("What it says");
        let plane = match self.plane {
            plane if plane == Plane::Accepts.as_str() => "a command that the component takes",
            _ => "an event that the component says",
        };
        let mut rows = vec![Row::new("realm", &self.realm)];
        match self.mounts.as_slice() {
            [] => rows.push(Row::new("mounts", "none")),
            mounts => rows.extend(
                mounts
                    .iter()
                    .enumerate()
                    .map(|(index, mount)| Row::new(if index == 0 { "mounts" } else { "" }, mount)),
            ),
        }
        rows.extend([
            Row::new("component", &self.component),
            Row::new("plane", self.plane).meaning(plane),
            Row::new("message", &self.message),
        ]);
        page.rows(rows);
        if !self.escapes.is_empty() {
            page.section("Escapes, read after it was split");
            let labels: Vec<String> =
                self.escapes.iter().map(|escape| format!("offset {}", escape.offset)).collect();
            page.rows(self.escapes.iter().zip(&labels).map(|(escape, label)| {
                Row::new(label, format!("{} is {}", escape.written, escape.read))
            }));
        }
        page.section("The same, written otherwise");
        page.rows([
            Row::new("compact", &self.compact),
            Row::new("segmented", &self.segmented),
            Row::new("path", &self.path).meaning("to.path, toPath in an envelope"),
        ]);
        page.section("Where it travels");
        let Topics { internal, amqp, mailbox, legacy_mailbox } = &self.topics;
        let mut rows = Vec::new();
        match internal {
            Some(topic) => rows.push(Row::new("in the realm", topic)),
            None => rows.push(
                Row::new("in the realm", "nowhere").meaning("realm and path are too long together"),
            ),
        }
        if let Some(Amqp { exchange, key }) = amqp {
            rows.push(Row::new("on AMQP", format!("exchange {exchange}, key {key}")));
        }
        rows.extend([
            Row::new("from other realms", mailbox).meaning("MXENV/1"),
            Row::new("", legacy_mailbox).meaning("legacy envelopes"),
        ]);
        page.rows(rows);
    }
}
