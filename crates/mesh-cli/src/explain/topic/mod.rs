//! `mesh topic explain TEXT`.

mod address;
mod federation;
mod key;
mod mention;
mod near;
mod pattern;
mod reading;
mod subject;
mod who;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use mesh_core::manifest::Mesh;
use mesh_core::subject::{Filter, Subject, SubjectProblem};
use mesh_core::topology::{AmqpExchange, Inbox, MeshSubject};
use serde::Serialize;

use super::{Fault, Page, Place};
use crate::shell::{Answer, Exit, Failure, Shell};
use reading::Reading;

/// Subjects, routing keys and topics.
#[derive(Debug, Args)]
pub(crate) struct Topic {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say what a subject, a routing key, a queue, a topic or a pattern is to the mesh.
    ///
    /// Which stream keeps it, who may publish and subscribe, and what it is on the other broker. Of a
    /// text that is none of the mesh's: why, and what is near. Exits 1 then.
    Explain(Explain),
}

#[derive(Debug, Args)]
struct Explain {
    /// The text, such as mesh.events.mail.letter.sent, `mail.>`, n1.mail.events or mx/in/1/acme.com/00
    topic: String,
    /// The exchange whose routing key it is. Without it, the text is taken for a key only if it is
    /// nothing else.
    #[arg(long, value_name = "NAME", value_enum)]
    exchange: Option<Exchange>,
    /// A mesh file: which of its modules emit, consume, serve and call it, and where their manifests
    /// say so.
    #[arg(long, value_name = "FILE")]
    mesh: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Exchange {
    /// The one without a name: the key is a queue's name.
    Default,
    #[value(name = "mesh.events")]
    Events,
    #[value(name = "mesh.events.dead")]
    EventsDead,
    #[value(name = "mesh.rpc")]
    Rpc,
    #[value(name = "mesh.alive")]
    Alive,
    #[value(name = "mesh.live")]
    Live,
}

impl From<Exchange> for AmqpExchange {
    fn from(exchange: Exchange) -> Self {
        match exchange {
            Exchange::Default => Self::Default,
            Exchange::Events => Self::Events,
            Exchange::EventsDead => Self::EventsDead,
            Exchange::Rpc => Self::Rpc,
            Exchange::Alive => Self::Alive,
            Exchange::Live => Self::Live,
        }
    }
}

pub(crate) fn run(asked: &Topic, shell: &mut Shell) -> Result<Exit, Failure> {
    let Verb::Explain(asked) = &asked.verb;
    let mesh = asked.mesh.as_deref().map(|file| crate::demo::load::mesh(Some(file))).transpose()?;
    let exchange = asked.exchange.map(AmqpExchange::from);
    let explained = explain(&asked.topic, exchange, mesh.as_ref());
    shell.answer(&explained)?;
    Ok(if explained.good { Exit::Good } else { Exit::Fault })
}

/// What a text is to the mesh.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    /// As it was given.
    topic: String,
    /// Whether it is anything of the mesh's.
    good: bool,
    /// What it can be, likeliest first.
    readings: Vec<Reading>,
    /// Why it is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
}

pub(crate) fn explain(
    text: &str,
    exchange: Option<AmqpExchange>,
    mesh: Option<&Mesh>,
) -> Explained {
    let (readings, fault) = match read(text, exchange, mesh) {
        Ok(readings) => (readings, None),
        Err(fault) => (Vec::new(), Some(*fault)),
    };
    Explained { topic: text.to_owned(), good: fault.is_none(), readings, fault }
}

/// At least one reading, or why there is none.
fn read(
    text: &str,
    exchange: Option<AmqpExchange>,
    mesh: Option<&Mesh>,
) -> Result<Vec<Reading>, Box<Fault>> {
    let filter = Filter::new(text).map_err(|error| ill_formed(text, error.problem))?;
    let has_hash = filter.tokens().any(|token| token == "#");
    let Some(subject) = filter.as_subject().filter(|_| !has_hash) else {
        return Ok(pattern::explain(&filter, exchange, mesh));
    };
    if let Some(exchange) = exchange {
        return key::explain(exchange, &subject, mesh).map(|reading| vec![reading]);
    }
    match of_subject(&subject, mesh) {
        Some(found) => found.map(|reading| vec![reading]),
        None => {
            let mut keys = key::guess(&subject, mesh);
            let Some(last) = keys.last_mut() else {
                return Err(near::unknown(text));
            };
            let near = near::likely(text);
            last.notes.extend(near.map(|near| format!("a subject on NATS that is near is {near}")));
            Ok(keys)
        }
    }
}

/// What a subject is by how it begins; nothing, where it begins like none of the mesh's.
fn of_subject(subject: &Subject, mesh: Option<&Mesh>) -> Option<Result<Reading, Box<Fault>>> {
    let text = subject.as_str();
    let begins = |prefix: &str| text.starts_with(prefix);
    Some(
        if begins("mesh.deliver.")
            || begins("$JS.")
            || begins("_INBOX.")
            || begins("$SYS.")
            || Inbox::is_brokers(subject)
        {
            address::explain(subject, mesh)
        } else if begins("mesh.") {
            subject::explain(subject, mesh)
        } else if begins("mx/") || begins("public.ingress.") {
            federation::explain(subject)
        } else {
            return None;
        },
    )
}

/// What a subject of the mesh is, in words.
pub(super) fn meaning(subject: &MeshSubject) -> &'static str {
    subject::words(subject).1
}

/// A text that no broker takes.
fn ill_formed(text: &str, problem: SubjectProblem) -> Box<Fault> {
    let place = Place::of(text.as_bytes(), problem.offset());
    let (code, rule, hint) = match problem {
        SubjectProblem::EmptyToken { .. } if text.is_empty() => (
            "empty",
            "at least one token (protocol §1)",
            "write a subject, a routing key or a topic, such as mesh.events.mail.sent",
        ),
        SubjectProblem::EmptyToken { .. } => (
            "empty",
            "tokens parted by dots, none of them empty (protocol §1)",
            "write a token, or leave the dot out",
        ),
        SubjectProblem::Character { .. } => (
            "character",
            "no white space and no control character, of any alphabet (protocol §1)",
            "leave the character out",
        ),
        SubjectProblem::TailNotLast { .. } => (
            "tail",
            "a token > is the last: it stands for one token or more (protocol §1)",
            "write * for one token, or end behind the >",
        ),
        SubjectProblem::TooLong { .. } => {
            ("too-long", "at most 255 bytes, a routing key's limit (protocol §1)", "shorten it")
        }
        _ => ("other", "the grammar of subjects (protocol §1)", "compare it with one that is good"),
    };
    Box::new(Fault::new(code, problem.to_string(), place, rule).hint(hint))
}

impl Answer for Explained {
    const SCHEMA: &'static str = "mesh.topic/1";
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut page = Page::default();
        page.title(&super::cut(&self.topic, 300));
        if let Some(fault) = &self.fault {
            page.bad("nothing of the mesh's");
            fault.show(&mut page);
        }
        for (index, reading) in self.readings.iter().enumerate() {
            if index > 0 {
                page.gap();
            }
            reading.show(&mut page);
        }
        page.fmt(f)
    }
}
