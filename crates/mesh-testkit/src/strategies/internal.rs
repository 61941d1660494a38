use mesh_core::json::RawJson;
use mesh_core::mx::{InternalRequest, LocalMeta, Profile};
use proptest::prelude::*;
use proptest::sample::select;

use super::envelopes::{id, realm};
use super::{mailbox_bytes, raw_json, subject, text};

/// What a gateway vouches for, with any of its optional parts.
fn local_meta() -> impl Strategy<Value = LocalMeta<'static>> {
    let texts = || prop::option::of(text(0..=8));
    let parts = (realm(), select(Profile::ALL), texts(), texts(), texts());
    parts
        .prop_filter_map("never", |(realm, profile, msg_id, key, trace_id)| {
            let mut meta = template()?.mx?;
            (meta.from_realm, meta.incoming_profile) = (realm, profile);
            meta.msg_id = msg_id.map(Into::into);
            meta.principal_key = key.map(Into::into);
            meta.trace_id = trace_id.map(Into::into);
            Some(meta)
        })
        .boxed()
}

/// A request with all its parts, to be filled in.
fn template() -> Option<InternalRequest<'static>> {
    const TEXT: &[u8] = br#"{"correlationId":"c","replyTo":"a",
        "_mx":{"fromRealm":"r","incomingProfile":"mxenv1"}}"#;
    InternalRequest::decode(TEXT, TEXT.len()).ok()
}

/// The text of a message, where it leaves room for one object around it.
fn envelope_as_it_came() -> impl Strategy<Value = RawJson<'static>> {
    mailbox_bytes()
        .prop_filter_map("too deep", |bytes| {
            let text = String::from_utf8(bytes).ok()?;
            RawJson::new(format!("[{text}]")).ok()?;
            RawJson::new(text).ok()
        })
        .boxed()
}

/// Any request to a component, with or without what the gateway vouches for.
pub fn internal_request() -> impl Strategy<Value = InternalRequest<'static>> {
    let more = (prop::option::of(local_meta()), prop::option::of(envelope_as_it_came()));
    (id(), subject(), raw_json(), more)
        .prop_filter_map("never", |(id, to, params, more)| {
            let mut request = template()?;
            request.correlation_id = id.into();
            (request.reply_to, request.params) = (to, params);
            (request.mx, request.envelope) = more;
            Some(request)
        })
        .boxed()
}
