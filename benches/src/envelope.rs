//! The envelope that each contestant over a network sends.

use bytes::Bytes;
use mesh_core::message::{HeaderValue, Message, MessageParts, names};
use mesh_core::subject::Subject;

/// The subject that events go to.
pub const EVENT: &str = "mesh.events.bench.made";

/// The headers of an event but its id, as those who write by hand send them.
pub const FIXED: [(&str, &str); 4] = [
    ("x-source", "bench"),
    ("x-node", "n1"),
    ("x-time", "2026-11-30T12:00:00Z"),
    ("content-type", "application/json"),
];

/// An id that no other event of this process has.
#[must_use]
pub fn id() -> String {
    format!("{:032x}", rand::random::<u128>())
}

/// An event as ours sends it: the five headers that each has, and a body.
#[must_use]
pub fn message(subject: &Subject, id: &str, payload: &Bytes) -> Message {
    let value = |text: String| HeaderValue::new(text).unwrap();
    let fixed = |text: &'static str| HeaderValue::new(text).unwrap();
    let headers = [
        (names::EVENT_ID, value(id.to_owned())),
        (names::SOURCE, fixed("bench")),
        (names::NODE, fixed("n1")),
        (names::TIME, fixed("2026-11-30T12:00:00Z")),
        (names::CONTENT_TYPE, HeaderValue::json()),
    ];
    let headers = headers.into_iter().collect();
    MessageParts { subject: subject.clone(), reply: None, headers, payload: payload.clone() }.into()
}

/// The same headers as RustStream has them.
#[cfg(feature = "ruststream")]
#[must_use]
pub fn rival_headers(id: &str) -> ruststream::HeaderMap {
    use ruststream::Str;
    let mut map = ruststream::HeaderMap::with_capacity(5);
    map.insert(Str::from_static("x-event-id"), id.to_owned());
    for (name, value) in FIXED {
        map.insert(Str::from_static(name), value);
    }
    map
}
