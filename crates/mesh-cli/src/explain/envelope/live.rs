//! Messages that are known by their subject alone: calls, their answers, and what goes between nodes
//! and the controller.

use mesh_core::identity::Responder;
use mesh_core::json::RawJson;
use mesh_core::message::{HeaderName, HeaderValue, Headers, names};
use mesh_core::mx::DEFAULT_MAX_BYTES;
use mesh_core::subject::Subject;
use mesh_core::tool::ToolFailure;
use mesh_core::topology::{InboxAddress, InboxPurpose, MeshSubject, ReplyAddress};

use super::capture::Capture;
use super::field::Fields;
use super::{Explained, Kind, fault};
use crate::explain::topic;

/// What a message on a subject of the mesh's is, if the subject says it.
pub(super) fn explain(capture: &Capture<'_>) -> Option<Explained> {
    let subject = Subject::new(capture.subject.as_deref()?).ok()?;
    if let Ok(InboxAddress { owner, purpose: InboxPurpose::Answer { responder, .. }, .. }) =
        InboxAddress::parse(&subject)
    {
        let why = format!("it goes to where {owner} waits for an answer of {}", responder.as_str());
        return Some(answer(capture, &why));
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
