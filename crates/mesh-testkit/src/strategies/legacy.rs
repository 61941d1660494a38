use mesh_core::mx::{LegacyReply, LegacyRequest, MxPath};
use proptest::prelude::*;

use super::envelopes::{id, realm, unknown_fields, whole_number};
use super::{accepts_path, emits_path, envelope, fault, mx_path, mx_principal, raw_json};

/// What a legacy request and a legacy event have in common.
fn request_to(
    path: impl Strategy<Value = MxPath<'static>>,
) -> impl Strategy<Value = LegacyRequest<'static>> {
    let ends = (realm(), path, id());
    let known = (prop::option::of(realm()), prop::option::of(mx_path()));
    let numbers = (prop::option::of(whole_number()), prop::option::of(whole_number()));
    let raws = (prop::option::of(mx_principal()), prop::option::of(raw_json()));
    let rest = (prop::option::of(id()), unknown_fields());
    (ends, known, numbers, raws, rest).prop_map(|(ends, known, numbers, raws, rest)| {
        let mut request = LegacyRequest::new(ends.0, ends.1, ends.2);
        (request.to_realm, request.from_path) = known;
        (request.timestamp, request.ttl_ms) = numbers;
        (request.principal, request.body) = raws;
        (request.msg_id, request.unknown) = (rest.0.map(Into::into), rest.1);
        request
    })
}

/// Any legacy request: to a command, or to an event's path with somebody to answer.
pub fn legacy_request() -> impl Strategy<Value = LegacyRequest<'static>> {
    let reply = (prop::option::of(realm()), prop::option::of(mx_path()));
    let to_command = (request_to(accepts_path()), reply);
    let answered = prop_oneof![
        (realm(), prop::option::of(mx_path())).prop_map(|(realm, path)| (Some(realm), path)),
        mx_path().prop_map(|path| (None, Some(path))),
    ];
    let to_event = (request_to(emits_path()), answered);
    prop_oneof![4 => to_command, 1 => to_event]
        .prop_map(|(mut request, reply)| {
            (request.reply_to_realm, request.reply_to_path) = reply;
            request
        })
        .boxed()
}

/// Any legacy event.
pub fn legacy_event() -> impl Strategy<Value = LegacyRequest<'static>> {
    request_to(emits_path()).boxed()
}

/// Any legacy reply: one that says why it failed without having failed too.
pub fn legacy_reply() -> impl Strategy<Value = LegacyReply<'static>> {
    let parts = (
        prop::option::of(realm()),
        prop::option::of(raw_json()),
        prop::option::of(fault()),
        prop::option::of(whole_number()),
        unknown_fields(),
    );
    (id(), any::<bool>(), parts)
        .prop_map(|(id, ok, parts)| {
            let mut reply = LegacyReply::new(id, ok);
            (reply.from_realm, reply.body, reply.error, reply.timestamp, reply.unknown) = parts;
            reply
        })
        .boxed()
}

/// The bytes of any message of any profile, as a mailbox brings it.
pub fn mailbox_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => envelope().prop_filter_map("never", |envelope| envelope.encode().ok()),
        2 => legacy_request().prop_map(|request| request.encode()),
        1 => legacy_event().prop_map(|event| event.encode()),
        2 => legacy_reply().prop_map(|reply| reply.encode()),
    ]
    .boxed()
}
