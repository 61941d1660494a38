//! The headers of a dead letter.

use std::collections::HashSet;

use super::DeadLetter;
use crate::event::encode_header;
use crate::message::{HeaderName, HeaderValue, Headers, Message, belongs_to_broker, names};
use crate::subject::Subject;
use crate::topology::MeshSubject;

/// The headers that every event has (protocol §3).
const REQUIRED: [HeaderName; 5] =
    [names::EVENT_ID, names::SOURCE, names::NODE, names::TIME, names::CONTENT_TYPE];

/// Those that travel on: not the broker's, not an earlier dead letter's, none twice.
pub(super) fn application(message: &Message) -> Headers {
    kept(message, |_| true)
}

/// Of those, the ones that every event has.
pub(super) fn required(message: &Message) -> Headers {
    kept(message, |name| {
        REQUIRED.iter().any(|required| name.eq_ignore_ascii_case(required.as_str()))
    })
}

fn kept(message: &Message, keep: impl Fn(&str) -> bool) -> Headers {
    let mut headers = message.headers().clone();
    let mut seen = HashSet::new();
    headers.retain(|name, _| seen.insert(name.to_owned()) && keep(name) && !steers(name));
    headers
}

/// `x-dead-*` and whatever a broker acts on, in any case.
fn steers(name: &str) -> bool {
    let dead = name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("x-dead-"));
    dead || belongs_to_broker(name)
}

impl DeadLetter {
    /// Sets the `x-dead-*` headers.
    pub(super) fn describe(&self, headers: &mut Headers, with_error: bool) {
        let subject = self.subject.as_ref().map(first_subject);
        if let Some(subject) = subject {
            set(headers, names::DEAD_SUBJECT, subject.as_str());
        }
        set(headers, names::DEAD_CONSUMER, self.consumer.consumer.as_str());
        let numbers =
            [(names::DEAD_SEQUENCE, self.sequence), (names::DEAD_DELIVERIES, self.deliveries)];
        for (name, number) in numbers {
            if let Some(number) = number {
                headers.set(name, number.into());
            }
        }
        set(headers, names::DEAD_REASON, self.reason.as_str());
        if let (Some(error), true) = (&self.error, with_error) {
            set(headers, names::DEAD_ERROR, error.as_str());
        }
        set(headers, names::DEAD_TIME, &self.time.to_string());
    }
}

/// The event's own subject, where the message was a replay of it.
fn first_subject(subject: &Subject) -> Subject {
    let event = match MeshSubject::parse(subject) {
        Ok(MeshSubject::Replay { module, event, .. }) => {
            MeshSubject::Event { module, event }.to_subject().ok()
        }
        _ => None,
    };
    event.unwrap_or_else(|| subject.clone())
}

/// Percent-encoding leaves nothing that a header's value may not hold.
fn set(headers: &mut Headers, name: HeaderName, text: &str) {
    let value = encode_header(text);
    if let Ok(value) = HeaderValue::new(value) {
        headers.set(name, value);
    }
}
