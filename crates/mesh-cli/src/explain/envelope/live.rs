//! Messages that are known by their subject alone: calls and their answers, acknowledgements, the
//! broker's own words, and what goes between nodes and the controller.

use mesh_core::identity::Responder;
use mesh_core::json::RawJson;
use mesh_core::message::{HeaderName, HeaderValue, Headers, names};
use mesh_core::mx::DEFAULT_MAX_BYTES;
use mesh_core::subject::Subject;
use mesh_core::tool::ToolFailure;
use mesh_core::topology::{
    AckAddress, Advisory, InboxAddress, InboxPurpose, MeshSubject, ReplyAddress,
};

use super::capture::Capture;
use super::field::Fields;
use super::{Explained, Kind, fault};
use crate::explain::topic;

/// What a message on a subject of the mesh's is, if the subject says it.
pub(super) fn explain(capture: &Capture<'_>) -> Option<Explained> {
    let subject = Subject::new(capture.subject.as_deref()?).ok()?;
    if let Ok(address) = InboxAddress::parse(&subject) {
        return Some(at_inbox(capture, &address));
    }
    if let Ok(address) = AckAddress::parse(&subject) {
        let why = format!("it goes to where {} acknowledges a delivery", address.consumer);
        return Some(verdict(capture, &why));
    }
    if let Ok(Advisory { consumer, .. }) = Advisory::parse(&subject) {
        let why = format!("it is the server's, about a delivery to {consumer} that is given up");
        return Some(of(capture, Kind::Notice, &why, |_, _| {}));
    }
    let parsed = MeshSubject::parse(&subject).ok()?;
    let responder = match &parsed {
        MeshSubject::Tool { module, .. } => Some(Responder::Module(module.clone())),
        MeshSubject::Ask { .. } => Some(Responder::Controller),
        _ => None,
    };
    Some(match responder {
        Some(responder) => call(capture, &subject, &responder),
        None => {
            let why = format!("its subject is that of {}", topic::meaning(&parsed));
            of(capture, Kind::Message, &why, |_, _| {})
        }
    })
}

fn at_inbox(capture: &Capture<'_>, address: &InboxAddress) -> Explained {
    let owner = &address.owner;
    match &address.purpose {
        InboxPurpose::Answer { responder, .. } => {
            let responder = responder.as_str();
            answer(capture, &format!("it goes to where {owner} waits for an answer of {responder}"))
        }
        InboxPurpose::Echo { .. } => {
            let why =
                format!("{owner} sends it to itself, to learn that all before it was handled");
            Explained::new(capture, Kind::Echo, why)
        }
        InboxPurpose::EnrolmentAnswer => {
            let why = format!("it goes to where {owner} waits for the controller's answer");
            of(capture, Kind::Message, &why, |_, _| {})
        }
        _ => {
            let why = format!("it goes to where {owner} waits for the broker's own word");
            // To an acknowledgement the server says that it has it, and no more.
            if capture.body.is_empty() {
                return Explained::new(capture, Kind::Confirmation, why);
            }
            of(capture, Kind::Confirmation, &why, |_, _| {})
        }
    }
}

/// What a reader says of its delivery: a word of the server's, and what belongs to it.
fn verdict(capture: &Capture<'_>, why: &str) -> Explained {
    let mut explained = Explained::new(capture, Kind::Acknowledgement, why);
    let text = String::from_utf8_lossy(&capture.body);
    let meaning = match text.split(' ').next() {
        Some("" | "+ACK" | "+OK") => "it is settled",
        Some("-NAK") => "it wants another try, perhaps after a delay in nanoseconds",
        Some("+WPI") => "it is still being worked on, and wants more time",
        Some("+TERM") => "it is given up, for the reason behind it",
        _ => "no word that the server knows: it takes it for +ACK",
    };
    let mut fields = Fields::default();
    fields.text("body", Some(text), meaning);
    explained.fields = fields.0;
    explained
}

fn call(capture: &Capture<'_>, asked: &Subject, responder: &Responder) -> Explained {
    let why = format!("its subject is that of a call, which {} answers", responder.as_str());
    let mut explained = of(capture, Kind::Call, &why, |fields, headers| {
        let name = names::TIMEOUT_MS;
        let millis = headers.value(name.as_str()).and_then(|value| value.parse().ok());
        let meaning = "how long its caller waits, ms from when it was sent";
        fields.number("x-timeout-ms", millis, meaning);
    });
    let reply = capture.reply.as_deref().map(Subject::new);
    let checked = match reply {
        Some(Ok(reply)) => {
            ReplyAddress::check(asked, &reply, responder).map_err(|error| error.to_string())
        }
        Some(Err(error)) => Err(error.to_string()),
        None => {
            let note = "the capture tells no reply address; without one that names the responder it reaches no handler";
            explained.notes.push(note.to_owned());
            return explained;
        }
    };
    if let Err(error) = checked {
        explained.good = false;
        explained.unhandled =
            Some(format!("it reaches no handler, since its reply address is {error}"));
    }
    explained
}

fn answer(capture: &Capture<'_>, why: &str) -> Explained {
    of(capture, Kind::CallAnswer, why, |fields, headers| {
        let Some(failure) = ToolFailure::decode(headers, &capture.body) else {
            return;
        };
        let name = "Nats-Service-Error-Code";
        fields.text(name, Some(failure.code), "why the call failed, for programs");
        fields.text("Nats-Service-Error", Some(failure.message), "and for people");
    })
}

/// Any message whose body is JSON.
fn of(
    capture: &Capture<'_>,
    kind: Kind,
    why: &str,
    more: impl FnOnce(&mut Fields, &Headers),
) -> Explained {
    let body = match RawJson::from_slice(&capture.body, DEFAULT_MAX_BYTES) {
        Ok(body) => body,
        Err(error) => {
            return Explained::refused(capture, why, fault::of_json(capture, error));
        }
    };
    let mut explained = Explained::new(capture, kind, why);
    let mut fields = Fields::default();
    more(&mut fields, &headers(capture));
    fields.raw("body", Some(&body), "what is asked or told");
    explained.fields = fields.0;
    let told =
        |name: &str| explained.fields.iter().any(|field| field.name.eq_ignore_ascii_case(name));
    let unknown = capture.pairs().map(|(name, _)| name).filter(|name| !told(name));
    explained.unknown = unknown.map(str::to_owned).collect();
    explained
}

/// Those that a message can carry.
pub(super) fn headers(capture: &Capture<'_>) -> Headers {
    let headers = capture.pairs().filter_map(|(name, value)| {
        Some((HeaderName::new(name.to_owned()).ok()?, HeaderValue::new(value.to_owned()).ok()?))
    });
    headers.collect()
}
