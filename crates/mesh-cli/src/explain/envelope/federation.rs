//! MXENV/1 and the legacy envelopes, read by the core.

use std::borrow::Cow;
use std::time::Duration;

use mesh_core::guard::{Expiry as Guard, Guard as _, Inbound, Now, Verdict};
use mesh_core::json::UnknownFields;
use mesh_core::mx::{
    AnswerRoute, Decoded, Envelope, Fault, LegacyReply, LegacyRequest, MailboxKind, Party, Profile,
    Shard, Topic, principal_key,
};
use mesh_core::name::RealmName;
use serde::Serialize;

use super::capture::Capture;
use super::field::{Fields, Shown};
use super::guards::Edge;
use super::{Explained, Kind, Replay};

/// Until when a message is worth handling.
#[derive(Debug, Serialize)]
pub(crate) struct Expiry {
    /// RFC 3339.
    expires: String,
    expired: bool,
    /// The moment that it was compared with, RFC 3339.
    at: String,
    /// Milliseconds from then until it expires; negative, if it has.
    left_ms: i64,
}

/// Where the answer to a request goes.
#[derive(Debug, Serialize)]
pub(crate) struct Answering {
    realm: String,
    path: Option<String>,
    /// In which profile it is written: that of the request.
    profile: &'static str,
    correlation_id: String,
    /// The topic of the mailbox, of the kind that the request came in by.
    mailbox: String,
    /// Whether the capture doesn't tell that kind, so that the one of the profile is taken.
    assumed: bool,
}

impl Expiry {
    /// Of a message that says both when it was sent and how long it lasts.
    pub(super) fn of(inbound: &Inbound<'_>, now: Now) -> Option<Self> {
        let end = inbound.timestamp?.saturating_add(Duration::from_millis(inbound.ttl_ms?));
        Some(Self {
            expires: end.to_string(),
            expired: matches!(Guard::default().check(inbound, now), Verdict::Refuse(_)),
            at: now.wall.to_string(),
            left_ms: end.as_millis().saturating_sub(now.wall.as_millis()),
        })
    }

    pub(super) fn words(&self) -> String {
        let span = words(self.left_ms.unsigned_abs());
        match self.expired {
            true => format!("{}, {span} before {}", self.expires, self.at),
            false => format!("{}, {span} after {}", self.expires, self.at),
        }
    }
}

impl Answering {
    pub(super) fn rows(&self) -> [(&'static str, String, &'static str); 5] {
        let path = self.path.clone().unwrap_or_else(|| "none".to_owned());
        [
            ("realm", self.realm.clone(), ""),
            ("path", path, ""),
            (
                "mailbox",
                self.mailbox.clone(),
                match self.assumed {
                    true => "if it came in by the mailbox of its profile; the capture doesn't tell",
                    false => "of the kind that the request came in by",
                },
            ),
            ("correlation id", self.correlation_id.clone(), ""),
            ("profile", self.profile.to_owned(), "that of the request"),
        ]
    }
}

/// A span in two units at most.
fn words(millis: u64) -> String {
    let units = [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];
    let mut rest = millis;
    let mut parts = Vec::new();
    for (unit, size) in units {
        if rest >= size && parts.len() < 2 {
            parts.push(format!("{} {unit}", rest / size));
        } else if !parts.is_empty() {
            break;
        }
        rest %= size;
    }
    if parts.is_empty() { "0 ms".to_owned() } else { parts.join(" ") }
}

pub(super) fn explain(capture: &Capture<'_>, decoded: Decoded<'_>, edge: &mut Edge) -> Explained {
    let (kind, why) = match &decoded {
        Decoded::MxEnv(_) => (Kind::Mxenv1, "it has a string msgType and an object to"),
        Decoded::LegacyRequest(_) => (
            Kind::LegacyRequest,
            "it has a string toPath and a fromRealm, and is no event: the path accepts, or an answer is wanted",
        ),
        Decoded::LegacyEvent(_) => (
            Kind::LegacyEvent,
            "it has a string toPath, which emits, and a fromRealm, and wants no answer",
        ),
        Decoded::LegacyReply(_) => {
            (Kind::LegacyReply, "it has a boolean ok and a correlationId, and no toPath")
        }
    };
    let mut explained = Explained::new(capture, kind, why);
    let mut fields = Fields::default();
    let unknown = match &decoded {
        Decoded::MxEnv(envelope) => mxenv(&mut fields, envelope),
        Decoded::LegacyRequest(request) | Decoded::LegacyEvent(request) => {
            legacy_request(&mut fields, request)
        }
        Decoded::LegacyReply(reply) => legacy_reply(&mut fields, reply),
    };
    explained.fields = fields.0;
    explained.unknown = unknown.iter().map(|(name, _)| name.to_owned()).collect();
    if let Decoded::LegacyReply(reply) = &decoded {
        explained.replay = reply.from_realm.as_ref().map(|realm| Replay {
            from: realm.as_str().to_owned(),
            id: reply.correlation_id.to_string(),
        });
        edge.judge_reply(reply, capture, &mut explained);
        return explained;
    }
    let profile = decoded.profile();
    let mailbox = mailbox(capture);
    let known = mailbox.as_ref().map(|(_, realm)| realm).or(edge.realm());
    // Where nothing is known of the mailbox, what it says of itself has to do.
    let Some(realm) = known.cloned().or_else(|| own_realm(&decoded)) else {
        return explained;
    };
    let Some(envelope) = decoded.into_envelope(&realm) else {
        return explained;
    };
    said_by(&envelope, profile, mailbox.map(|(kind, _)| kind), &mut explained);
    edge.judge(&envelope, profile, capture, &mut explained);
    explained
}

/// What follows from an envelope, whatever profile it came in.
fn said_by(
    envelope: &Envelope<'_>,
    profile: Profile,
    mailbox: Option<MailboxKind>,
    explained: &mut Explained,
) {
    explained.principal_key =
        envelope.principal.as_ref().and_then(principal_key).map(Cow::into_owned);
    explained.replay = envelope
        .replay_key()
        .map(|key| Replay { from: key.realm.to_owned(), id: key.id.to_owned() });
    let assumed = mailbox.is_none();
    let mailbox = mailbox.unwrap_or(match profile {
        Profile::Legacy => MailboxKind::Legacy,
        Profile::MxEnv1 => MailboxKind::Mx(Shard::default()),
    });
    match AnswerRoute::of(envelope, profile) {
        Some(route) => {
            let path = envelope.reply_to.as_ref().and_then(|party| party.path.as_ref());
            let path = path.or(envelope.from.path.as_ref()).map(ToString::to_string);
            explained.answer = Some(Answering {
                realm: route.realm().as_str().to_owned(),
                path,
                profile: route.profile().name(),
                correlation_id: route.correlation_id().to_owned(),
                mailbox: mailbox.subject(route.realm()).as_str().to_owned(),
                assumed,
            });
        }
        None if envelope.kind.is_answered() => explained.notes.push(
            "it is a request that nobody can answer: it has no replyTo, and no from.path"
                .to_owned(),
        ),
        None => {}
    }
}

/// The mailbox that it came in by, where the capture tells its subject.
fn mailbox(capture: &Capture<'_>) -> Option<(MailboxKind, RealmName)> {
    match capture.subject.as_deref()?.parse() {
        Ok(Topic::Mailbox(kind, realm)) => Some((kind, realm)),
        _ => None,
    }
}

fn own_realm(decoded: &Decoded<'_>) -> Option<RealmName> {
    match decoded {
        Decoded::MxEnv(envelope) => Some(envelope.to.realm.to_name()),
        Decoded::LegacyRequest(request) | Decoded::LegacyEvent(request) => {
            Some(request.to_realm.as_ref().unwrap_or(&request.from_realm).to_name())
        }
        Decoded::LegacyReply(_) => None,
    }
}

const CLAIM: &str = "who says that they sent it; a claim, unless something proves it";
const SENT: &str = "when it was sent, by the sender's clock";
const MSG_ID: &str = "its own id; with the sender's realm it is the replay key";
const CORRELATION: &str = "ties an answer to its request";
const PRINCIPAL: &str = "for whom it is sent";

fn mxenv<'e>(fields: &mut Fields, envelope: &'e Envelope<'_>) -> &'e UnknownFields<'e> {
    let kind = match envelope.kind.as_str() {
        "Cmd" => "a command; it is answered with a Result or a Nack",
        "Evt" => "an event; nobody answers it",
        "Result" => "the answer to a request",
        "Sub" => "a subscription; it is answered, and routed like a command",
        "Unsub" => "the end of a subscription; it is answered, and routed like a command",
        _ => "the refusal of a request; nobody answers it",
    };
    fields.text("msgType", Some(envelope.kind.as_str()), kind);
    fields.text("to.realm", Some(envelope.to.realm.as_str()), "the realm that it is for");
    fields.text("to.path", Some(envelope.to.path.as_str()), "the command or event in that realm");
    fields.text("from.realm", Some(envelope.from.realm.as_str()), CLAIM);
    fields.text("from.path", envelope.from.path.as_ref(), "what in that realm sent it");
    if let Some(Party { realm, path, .. }) = &envelope.reply_to {
        let meaning = "whose mailbox the answer goes to; it has to be the sender's realm";
        fields.text("replyTo.realm", Some(realm.as_str()), meaning);
        fields.text("replyTo.path", path.as_ref(), "what in that realm takes the answer");
    }
    fields.text("msgId", envelope.msg_id.as_deref(), MSG_ID);
    fields.text("correlationId", envelope.correlation_id.as_deref(), CORRELATION);
    fields.number("ttl", envelope.ttl, "how many routers may still pass it on: hops, no time");
    fields.moment("timestamp", envelope.timestamp, SENT);
    fields.text("traceId", envelope.trace_id.as_deref(), "ties it to a trace");
    fields.raw("principal", envelope.principal.as_ref(), PRINCIPAL);
    fields.push("auth", envelope.auth.as_ref().map(Shown::hidden), "a proof of the sender");
    fields.raw("body", envelope.body.as_ref(), "what is asked or told");
    fault(fields, envelope.error.as_ref());
    &envelope.unknown
}

fn legacy_request<'e>(
    fields: &mut Fields,
    request: &'e LegacyRequest<'_>,
) -> &'e UnknownFields<'e> {
    fields.text("fromRealm", Some(request.from_realm.as_str()), CLAIM);
    fields.text("fromPath", request.from_path.as_ref(), "what in that realm sent it");
    let meaning = "the realm that it is for; without it, the mailbox's";
    fields.text("toRealm", request.to_realm.as_ref(), meaning);
    fields.text("toPath", Some(&request.to_path), "the command or event in that realm");
    let meaning = "whose mailbox the answer goes to; it has to be the sender's realm";
    fields.text("replyToRealm", request.reply_to_realm.as_ref(), meaning);
    let meaning = "what in that realm takes the answer";
    fields.text("replyToPath", request.reply_to_path.as_ref(), meaning);
    fields.text("correlationId", Some(&request.correlation_id), CORRELATION);
    fields.text("msgId", request.msg_id.as_deref(), MSG_ID);
    fields.moment("timestamp", request.timestamp, SENT);
    let meaning = "how long after timestamp it is worth handling, ms: a time, no hops";
    fields.number("ttlMs", request.ttl_ms, meaning);
    fields.raw("principal", request.principal.as_ref(), PRINCIPAL);
    fields.raw(
        "body",
        request.body.as_ref(),
        "what is asked or told; read from params or payload too",
    );
    &request.unknown
}

fn legacy_reply<'e>(fields: &mut Fields, reply: &'e LegacyReply<'_>) -> &'e UnknownFields<'e> {
    fields.text("correlationId", Some(&reply.correlation_id), "the request that it answers");
    fields.push("ok", Shown::Truth(reply.ok), "whether the request was done");
    let meaning = "who says that they answer; a claim, and often left out";
    fields.text("fromRealm", reply.from_realm.as_ref(), meaning);
    fields.moment("timestamp", reply.timestamp, SENT);
    fields.raw("body", reply.body.as_ref(), "the answer; read from result too");
    fault(fields, reply.error.as_ref());
    &reply.unknown
}

fn fault(fields: &mut Fields, error: Option<&Fault<'_>>) {
    let Some(error) = error else {
        return;
    };
    fields.text("error.code", Some(&error.code), "why a request was refused, for programs");
    fields.text("error.message", Some(&error.message), "and for people");
    fields.raw("error.details", error.details.as_ref(), "more about it");
}
