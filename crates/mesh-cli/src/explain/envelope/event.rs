//! Events and dead letters, in header mode and in structured mode.

use bytes::Bytes;
use mesh_core::dead_letter::DeadLetter;
use mesh_core::event::{CONTENT_TYPE, EVENT_ID, Event, EventError, SOURCE, STRUCTURED};
use mesh_core::json::RawJson;
use mesh_core::message::Message;
use mesh_core::subject::Subject;
use mesh_core::topology::MeshSubject;

use super::capture::{Capture, Header};
use super::field::Fields;
use super::{Explained, Kind, Replay, fault, live};

/// Whether its headers or its subject say that it is an event.
pub(super) fn is_one(capture: &Capture<'_>) -> bool {
    let subject = capture.subject.as_deref().and_then(|text| Subject::new(text).ok());
    let subject = subject.and_then(|subject| MeshSubject::parse(&subject).ok());
    if let Some(MeshSubject::Event { .. } | MeshSubject::Replay { .. } | MeshSubject::DeadLetter) =
        subject
    {
        return true;
    }
    capture
        .headers
        .iter()
        .any(|header| header.is(EVENT_ID) || header.is(SOURCE) || is_structured(header))
}

pub(super) fn explain(capture: &Capture<'_>) -> Explained {
    let dead = dead_letter(capture);
    let (kind, why) = match (&dead, capture.headers.iter().any(is_structured)) {
        (Some(_), _) => (Kind::DeadLetter, "it has the headers x-dead-…"),
        (None, true) => (Kind::StructuredEvent, "its content-type is that of structured mode"),
        (None, false) if capture.headers.is_empty() => {
            (Kind::Event, "its subject is that of an event")
        }
        (None, false) => (Kind::Event, "it has an event's headers"),
    };
    match Event::decode(capture.pairs(), Bytes::copy_from_slice(&capture.body)) {
        Ok(event) => of(capture, kind, why, &event, dead.as_ref()),
        // Of an event that was too large, or gone, only a reference is left.
        Err(_) if dead.as_ref().is_some_and(|_| capture.body.is_empty()) => {
            let mut explained = Explained::new(capture, kind, why);
            let mut fields = Fields::default();
            dead_fields(&mut fields, dead.as_ref());
            explained.fields = fields.0;
            explained
                .notes
                .push("it is a reference only: the event itself is not in it".to_owned());
            explained
        }
        Err(error) => refused(capture, why, &error),
    }
}

fn is_structured(header: &Header) -> bool {
    header.is(CONTENT_TYPE) && header.value.starts_with(STRUCTURED)
}

/// A JSON document that has an event's keys, without the headers that would say so.
pub(super) fn explain_structured(capture: &Capture<'_>) -> Explained {
    let body = Bytes::copy_from_slice(&capture.body);
    let why = "it is an object with an event's keys, id, source and data among them";
    match Event::decode([(CONTENT_TYPE, STRUCTURED)], body) {
        Ok(event) => of(capture, Kind::StructuredEvent, why, &event, None),
        Err(error) => refused(capture, why, &error),
    }
}

fn refused(capture: &Capture<'_>, why: &str, error: &EventError) -> Explained {
    let mut explained = Explained::refused(capture, why, fault::of_event(capture, error));
    explained.notes.push(
        "whoever consumes it sends it to the dead letters as undecodable, without another try"
            .to_owned(),
    );
    explained
}

fn of(
    capture: &Capture<'_>,
    kind: Kind,
    why: &str,
    event: &Event,
    dead: Option<&DeadLetter>,
) -> Explained {
    let mut explained = Explained::new(capture, kind, why);
    let mut fields = Fields::default();
    let name = |header: &'static str, key: &'static str| match kind {
        Kind::StructuredEvent => key,
        _ => header,
    };
    let meaning = "its own id; a consumer handles it once";
    fields.text(name(EVENT_ID, "id"), Some(event.id().as_str()), meaning);
    let meaning = "the module that says it emitted it; the subject's is proven";
    fields.text(name(SOURCE, "source"), Some(event.source().as_str()), meaning);
    fields.text(name("x-node", "node"), Some(event.node()), "and on which node; a claim");
    let time = event.time().to_string();
    fields.text(name("x-time", "time"), Some(time), "when, by the emitter's clock");
    let meaning = "the event or command that caused it";
    fields.text(
        name("x-causation-id", "causationId"),
        event.causation().map(|c| c.as_str()),
        meaning,
    );
    fields.text(name("x-schema", "schema"), event.schema(), "the version of the data's shape");
    let trace = event.trace();
    fields.text("traceparent", trace.traceparent.as_deref(), "W3C trace context");
    fields.text("tracestate", trace.tracestate.as_deref(), "W3C trace context");
    fields.text("baggage", trace.baggage.as_deref(), "W3C baggage");
    dead_fields(&mut fields, dead);
    fields.raw(name("body", "data"), Some(&data(event)), "what has happened");
    explained.fields = fields.0;
    explained.unknown = event
        .extra()
        .iter()
        .map(|(name, _)| name.to_owned())
        .filter(|name| dead.is_none() || !name.to_ascii_lowercase().starts_with("x-dead-"))
        .collect();
    explained.replay =
        Some(Replay { from: event.source().to_string(), id: event.id().as_str().to_owned() });
    let id = event.publish_id();
    explained.notes.push(format!("the broker knows it by the id {id}, and refuses a second one"));
    let subject = capture.subject.as_deref().and_then(|text| Subject::new(text).ok());
    match subject.as_ref().map(MeshSubject::parse) {
        Some(Ok(MeshSubject::Event { module, .. } | MeshSubject::Replay { module, .. })) => {
            if let Err(unverifiable) = event.verify_source(&module) {
                explained.good = false;
                explained.unhandled = Some(format!(
                    "it goes to the dead letters, and no handler sees it: {unverifiable}"
                ));
            }
        }
        None => explained
            .notes
            .push("the capture doesn't tell its subject, which alone proves the module".to_owned()),
        _ => {}
    }
    explained
}

fn data(event: &Event) -> RawJson<'_> {
    event.data().raw()
}

fn dead_fields(fields: &mut Fields, dead: Option<&DeadLetter>) {
    let Some(dead) = dead else {
        return;
    };
    fields.text("x-dead-subject", dead.subject.as_ref(), "where it was first published");
    let meaning = "who could not handle it, and gets it back on a replay";
    fields.text("x-dead-consumer", Some(&dead.consumer.consumer), meaning);
    fields.number("x-dead-sequence", dead.sequence, "its number in the stream");
    fields.number("x-dead-deliveries", dead.deliveries, "how often it was tried");
    fields.text("x-dead-reason", Some(dead.reason.as_str()), "why it was given up");
    fields.text("x-dead-error", dead.error.as_ref().map(|e| e.as_str()), "what its handler said");
    fields.text("x-dead-time", Some(dead.time.to_string()), "when it was given up");
}

/// What the headers say of a dead letter, if it is one.
fn dead_letter(capture: &Capture<'_>) -> Option<DeadLetter> {
    let subject = MeshSubject::DeadLetter.to_subject().ok()?;
    DeadLetter::parse(&Message::new(subject, Bytes::new()).with_headers(live::headers(capture)))
        .ok()
}
