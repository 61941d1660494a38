use mesh_core::message::{HeaderName, HeaderValue, Headers, Message, MessageParts, PublishId};
use mesh_core::port::Limits;
use proptest::prelude::*;

use super::{few_subjects, subject};

/// Any header's name, of those that an application may set: see
/// [`Message::check`](mesh_core::message::Message::check).
pub fn header_name() -> impl Strategy<Value = HeaderName> {
    let own = prop_oneof![3 => "[A-Za-z][A-Za-z0-9-]{0,15}", 1 => "[!-9;-~]{1,128}"];
    let known = prop_oneof![Just("x-event-id"), Just("X-Event-Id"), Just("content-type")];
    prop_oneof![4 => own, 1 => known.prop_map(str::to_owned)]
        .prop_filter_map("of the broker", |text| HeaderName::new(text).ok().filter(is_free))
}

/// Whether a message with this header passes the check that every transport makes.
fn is_free(name: &HeaderName) -> bool {
    let headers = Headers::from_iter([(name.clone(), HeaderValue::from(1))]);
    checked(headers).is_some()
}

fn checked(headers: Headers) -> Option<Headers> {
    let limits = Limits::default();
    let subject = mesh_core::subject::Subject::new("a").ok()?;
    let message = Message::new(subject, "").with_headers(headers);
    message.check(&limits).ok()?;
    Some(message.into_parts().headers)
}

/// Any header's value: plain, or of any script, or empty.
pub fn header_value() -> impl Strategy<Value = HeaderValue> {
    let plain = "[!-~]{0,40}";
    let wide = "[^\\s\\p{C}]([^\\p{C}]{0,30}[^\\s\\p{C}])?";
    prop_oneof![plain, wide]
        .prop_filter_map("beginning or ending in space", |text| HeaderValue::new(text).ok())
}

/// Headers that may be sent: up to eight, in any order, no name twice.
pub fn headers() -> impl Strategy<Value = Headers> {
    prop::collection::vec((header_name(), header_value()), 0..=8)
        .prop_map(|all| {
            let mut headers = Headers::default();
            for (name, value) in all {
                headers.set(name, value);
            }
            headers
        })
        .prop_filter_map("over a limit", checked)
}

/// Any message that may be sent, with up to 1 KiB of any bytes.
pub fn message() -> impl Strategy<Value = Message> {
    let reply = proptest::option::of(subject());
    let payload = prop::collection::vec(any::<u8>(), 0..=1024);
    (subject(), reply, headers(), payload).prop_map(|(subject, reply, headers, payload)| {
        let payload = payload.into();
        Message::from(MessageParts { subject, reply, headers, payload })
    })
}

/// A small message to one of [`few_subjects`], without headers.
pub fn few_messages() -> impl Strategy<Value = Message> {
    (few_subjects(), "[a-z]{0,3}").prop_map(|(subject, payload)| Message::new(subject, payload))
}

/// Any id of an append.
pub fn publish_id() -> impl Strategy<Value = PublishId> {
    "[!-~]{1,255}".prop_filter_map("never", |text| PublishId::new(text).ok())
}
