//! Topics between realms and inside one: `mx/…`, `public.ingress.…`.

use mesh_core::mx::{MailboxKind, MxUri, Plane, Topic, TopicError, escape};
use mesh_core::name::RealmName;
use mesh_core::subject::Subject;
use mesh_core::topology::AmqpRoute;

use super::near;
use super::reading::Reading;
use super::subject::amqp;
use super::who;
use crate::explain::{Fault, Place};

pub(super) fn explain(subject: &Subject) -> Result<Reading, Box<Fault>> {
    let topic: Topic =
        subject.as_str().parse().map_err(|error| refused(subject.as_str(), &error))?;
    let mut reading = match &topic {
        Topic::Mailbox(kind, realm) => mailbox(*kind, realm),
        Topic::Internal(realm, path) => {
            let (kind, meaning) = match path.plane() {
                Plane::Accepts => {
                    ("component-command", "where a component of a realm takes a command")
                }
                Plane::Emits => ("component-event", "where a component of a realm says an event"),
            };
            let mounts: Vec<&str> = path.mounts().collect();
            Reading::new(kind, meaning)
                .part("realm", realm)
                .part("mounts", mounts.join("/"))
                .part("component", path.component())
                .part("plane", path.plane())
                .part("message", path.message())
                .same("URI", MxUri::new(realm, path.borrowed()))
                .note("inside the realm: other realms reach it through the realm's mailbox and its guards")
        }
        Topic::InternalReply(realm, id) => {
            Reading::new("component-reply", "where the answer to one request inside a realm goes")
                .part("realm", realm)
                .part("random", id)
                .note("the gateway listens there before it asks, and the first answer wins")
        }
        Topic::RouteInbox(realm, shard) => Reading::new(
            "route-inbox",
            "where a router takes envelopes to pass on",
        )
        .part("realm", realm)
        .part("shard", shard)
        .note("its payload is an MXENV/1, whose ttl counts the routers that it may still pass"),
        _ => Reading::new("topic", "a topic of the federation"),
    };
    reading.amqp = Some(amqp(AmqpRoute::of(subject)));
    if let Topic::Mailbox(kind, realm) = &topic {
        (reading.publish, reading.subscribe) = who::may_at_mailbox(subject, realm, *kind);
    }
    Ok(reading)
}

fn mailbox(kind: MailboxKind, realm: &RealmName) -> Reading {
    let (word, meaning) = match kind {
        MailboxKind::Legacy => ("legacy-mailbox", "the mailbox of a realm for legacy envelopes"),
        MailboxKind::LegacyRaw => (
            "legacy-raw-mailbox",
            "the mailbox of a realm for legacy envelopes, its name as it is, without escapes",
        ),
        _ => ("mailbox", "the mailbox of a realm for MXENV/1"),
    };
    let reading = Reading::new(word, meaning).part("realm", realm);
    let reading = match kind {
        MailboxKind::Mx(shard) => reading.part("shard", shard),
        _ => reading,
    };
    let others = [MailboxKind::Mx(mesh_core::mx::Shard::default()), MailboxKind::Legacy];
    let others = others.into_iter().filter(|other| *other != kind);
    let reading = others
        .fold(reading, |reading, other| reading.same("other mailboxes", other.subject(realm)));
    match kind {
        MailboxKind::LegacyRaw => {
            reading.note("a gateway listens there only where legacy_raw_mailbox is on")
        }
        _ => reading,
    }
}

fn refused(text: &str, error: &TopicError) -> Box<Fault> {
    let place = Place::of(text.as_bytes(), error.offset_in(text));
    let (code, rule, hint) = match error {
        TopicError::Unknown => return near::unknown(text),
        TopicError::Realm(_) => (
            "realm",
            "a realm is labels joined by dots, without / * > # %, white space or control characters (protocol §1)",
            "write the realm's name as it is",
        ),
        TopicError::Escape(_) => (
            "escape",
            "behind public.ingress stands mxesc1 of the realm as it is printed: letters, digits, - _ ~ as they are, all else %HH in capitals (protocol §8)",
            "mesh uri explain matrix://<realm>/a.accepts.b shows a realm's mailboxes",
        ),
        TopicError::Path(_) => (
            "path",
            "behind the realm stands <mount…>/<component>.<accepts or emits>.<message> (protocol §8)",
            "mesh uri explain matrix://<realm>/<path> says what is near",
        ),
        TopicError::Shard => {
            ("shard", "a shard is two digits, 0-9 and a-f (protocol §8)", "write 00")
        }
        TopicError::ReplyId => (
            "reply-id",
            "behind _reply. stand 32 digits, 0-9 and a-f (protocol §8)",
            "see whether the capture was cut off",
        ),
        TopicError::TooLong { .. } => ("too-long", "at most 255 bytes (protocol §1)", "shorten it"),
        _ => ("other", "the federation's topics (protocol §8)", "compare it with one that is good"),
    };
    let what = error.to_string();
    let what = what.strip_prefix("topic: ").unwrap_or(&what);
    let mut fault = Fault::new(code, what, place, rule);
    fault.instead = canonical(text).into_iter().collect();
    if fault.instead.is_empty() {
        fault = fault.hint(hint);
    }
    Box::new(fault)
}

/// The legacy mailbox of the realm that an escaped name stands for, however it is escaped.
fn canonical(text: &str) -> Option<String> {
    let name = text.strip_prefix("public.ingress.")?;
    let realm = RealmName::new(escape::decode(name).ok()?).ok()?;
    Some(MailboxKind::Legacy.subject(&realm).as_str().to_owned())
}
