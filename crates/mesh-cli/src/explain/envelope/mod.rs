//! `mesh envelope explain [FILE]`.

mod capture;
mod event;
mod fault;
mod federation;
mod field;
mod guards;
mod internal;
mod live;
mod shape;
mod show;
mod split;
mod summary;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use mesh_clock::SystemClock;
use mesh_core::guard::ChainBuilder;
use mesh_core::mx::DEFAULT_MAX_BYTES;
use mesh_core::name::RealmName;
use mesh_core::port::Clock as _;
use mesh_core::subject::Subject;
use mesh_core::time::Timestamp;
use mesh_core::topology::MeshSubject;
use serde::Serialize;

use super::Fault;
use crate::shell::{Answer, Exit, Failure, Shell, input};
use capture::Capture;
use field::Field;
pub(crate) use guards::Arrival;
use guards::{Edge, Judged};
use summary::Summary;

/// Envelopes as they were captured: between realms, and of events.
#[derive(Debug, Args)]
pub(crate) struct Envelope {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Say what a captured message is, field by field, and which guard would refuse it.
    ///
    /// The file holds one JSON document, or one a line; or messages as `nats sub` prints or dumps
    /// them; or one with its headers: lines `name: value`, among them `subject: …` if it is known,
    /// an empty line, and the body. Exits 1 if one can't be read or would be refused.
    Explain(Explain),
}

#[derive(Debug, Args)]
struct Explain {
    /// The capture; stdin, if it is - or not given.
    #[arg(default_value = input::STDIN)]
    file: PathBuf,
    /// The realm whose mailbox it came in by: which of its guards would refuse it is told.
    #[arg(long, value_name = "REALM")]
    realm: Option<RealmName>,
    /// When it arrives, for expiry and limits: `now`; `sent`, when each says that it was sent; or a
    /// moment, RFC 3339 or milliseconds since 1970.
    #[arg(long, value_name = "WHEN", default_value = "now")]
    at: Arrival,
    /// With --realm: what other realms may not reach, such as `admin`. Can be given more than once.
    #[arg(long, value_name = "PATH", requires = "realm")]
    deny: Vec<String>,
}

/// The largest capture that is read, in bytes.
const MAX_CAPTURE: usize = 64 * 1024 * 1024;

pub(crate) fn run(asked: &Envelope, shell: &mut Shell) -> Result<Exit, Failure> {
    let Verb::Explain(asked) = &asked.verb;
    let bytes = input::bytes(&asked.file, MAX_CAPTURE)?;
    let captures = captures(&bytes, &asked.file)?;
    let gate = asked.realm.as_ref().map(|realm| guards::standard(realm, &asked.deny));
    tell(&captures, Edge::new(gate, asked.at, SystemClock::new().now()), shell)
}

/// What a capture holds, and which guard of this realm would refuse it: what `mesh federation explain` is
/// asked.
pub(crate) fn judged(
    file: &Path,
    realm: &RealmName,
    chain: ChainBuilder,
    at: Arrival,
    shell: &mut Shell,
) -> Result<Exit, Failure> {
    let bytes = input::bytes(file, MAX_CAPTURE)?;
    let captures = captures(&bytes, file)?;
    let gate = Some((realm.clone(), chain.build()));
    tell(&captures, Edge::new(gate, at, SystemClock::new().now()), shell)
}

fn captures<'b>(bytes: &'b [u8], file: &Path) -> Result<Vec<Capture<'b>>, Failure> {
    let captures = split::split(bytes);
    if captures.is_empty() {
        let hint = "give it a message: a JSON document, or what `nats sub` prints";
        return Err(Failure::new("nothing in it", hint).at(input::name(file)));
    }
    Ok(captures)
}

fn tell(captures: &[Capture<'_>], mut edge: Edge, shell: &mut Shell) -> Result<Exit, Failure> {
    let mut summary = Summary::default();
    for capture in captures {
        let explained = explain(capture, &mut edge);
        summary.count(&explained);
        shell.answer(&explained)?;
    }
    if captures.len() > 1 {
        shell.answer(&summary)?;
    }
    Ok(if summary.is_good() { Exit::Good } else { Exit::Fault })
}

/// What one captured message is, or why it can't be read.
#[derive(Debug, Serialize)]
pub(crate) struct Explained {
    /// Which of the capture, from 1.
    number: usize,
    /// The line of the capture at which its body begins, from 1.
    line: usize,
    /// Where it was sent to, where the capture tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// Where an answer was wanted, where the capture tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    /// Whether it can be read, and no guard would refuse it.
    good: bool,
    /// What it is; `unknown`, where it can't be read.
    kind: Kind,
    /// Why it is taken for that.
    why: String,
    fields: Vec<Field>,
    /// Fields that this version gives no meaning to; they are kept and passed on.
    unknown: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiry: Option<federation::Expiry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<federation::Answering>,
    /// What marks it as seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<Replay>,
    #[serde(skip_serializing_if = "Option::is_none")]
    principal_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guards: Option<Judged>,
    /// Why nobody of the mesh handles it, although it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unhandled: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
    notes: Vec<String>,
}

/// What two copies of a message have in common.
#[derive(Debug, Serialize)]
pub(crate) struct Replay {
    /// The realm, or of an event the module that emitted it.
    from: String,
    id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Mxenv1,
    LegacyRequest,
    LegacyEvent,
    LegacyReply,
    InternalRequest,
    Event,
    StructuredEvent,
    DeadLetter,
    Call,
    CallAnswer,
    Acknowledgement,
    Confirmation,
    Echo,
    Notice,
    Message,
    Unknown,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Self::Mxenv1 => "an MXENV/1 envelope",
            Self::LegacyRequest => "a legacy request",
            Self::LegacyEvent => "a legacy event",
            Self::LegacyReply => "a legacy reply",
            Self::InternalRequest => "a request inside a realm",
            Self::Event => "an event",
            Self::StructuredEvent => "an event in structured mode",
            Self::DeadLetter => "a dead letter",
            Self::Call => "a call",
            Self::CallAnswer => "the answer to a call",
            Self::Acknowledgement => "an acknowledgement",
            Self::Confirmation => "the broker's confirmation",
            Self::Echo => "an echo",
            Self::Notice => "a notice of the server's",
            Self::Message => "a message of the mesh's own",
            Self::Unknown => "nothing that can be read",
        }
    }
}

impl Explained {
    fn new(capture: &Capture<'_>, kind: Kind, why: impl Into<String>) -> Self {
        Self {
            number: capture.number,
            line: capture.line,
            subject: capture.subject.clone(),
            reply: capture.reply.clone(),
            good: true,
            kind,
            why: why.into(),
            fields: Vec::new(),
            unknown: Vec::new(),
            expiry: None,
            answer: None,
            replay: None,
            principal_key: None,
            guards: None,
            unhandled: None,
            fault: None,
            notes: Vec::new(),
        }
    }

    fn refused(capture: &Capture<'_>, why: impl Into<String>, fault: Fault) -> Self {
        Self { good: false, fault: Some(fault), ..Self::new(capture, Kind::Unknown, why) }
    }
}

impl Answer for Explained {
    const SCHEMA: &'static str = "mesh.envelope/1";
}

/// What a captured message is: by its headers, by its subject, else by what its body is.
fn explain(capture: &Capture<'_>, edge: &mut Edge) -> Explained {
    let mut explained = if event::is_one(capture) {
        event::explain(capture)
    } else if let Some(explained) = live::explain(capture) {
        explained
    } else {
        match mesh_core::mx::decode(&capture.body, DEFAULT_MAX_BYTES) {
            Ok(decoded) => federation::explain(capture, decoded, edge),
            Err(error) => shape::explain(capture, error, edge),
        }
    };
    note_subject(&mut explained);
    explained
}

/// What the subject says beside the message.
fn note_subject(explained: &mut Explained) {
    let Some(text) = &explained.subject else {
        return;
    };
    let parsed = Subject::new(text.as_str()).map(|subject| MeshSubject::parse(&subject));
    let note = match parsed {
        Err(error) => format!("what the capture calls its subject is none: {error}"),
        Ok(_) => format!("mesh topic explain {text} says what its subject is"),
    };
    explained.notes.push(note);
}

fn moment(millis: u64) -> Option<Timestamp> {
    Timestamp::try_from(i64::try_from(millis).ok()?).ok()
}
