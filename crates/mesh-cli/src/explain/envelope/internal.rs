//! A request inside a realm, as a gateway passes it to a component.

use mesh_core::mx::{DEFAULT_MAX_BYTES, InternalRequest};

use super::capture::Capture;
use super::field::Fields;
use super::{Explained, Kind};

/// What the body is, if it is one that a gateway vouches for.
pub(super) fn explain(capture: &Capture<'_>) -> Option<Explained> {
    let request = InternalRequest::decode(&capture.body, DEFAULT_MAX_BYTES).ok()?;
    let why = match request.mx {
        Some(_) => "it has a replyTo that is a topic, and an _mx, which only a gateway writes",
        None => "it has a correlationId and a replyTo that is a topic",
    };
    let mut explained = Explained::new(capture, Kind::InternalRequest, why);
    let mut fields = Fields::default();
    let meaning = "tells the answers to different requests apart";
    fields.text("correlationId", Some(&request.correlation_id), meaning);
    fields.text("replyTo", Some(&request.reply_to), "where the component publishes its answer");
    fields.raw("params", Some(&request.params), "the body of the envelope");
    if let Some(mx) = &request.mx {
        let meaning = "the realm that it came from, as the gateway saw";
        fields.text("_mx.fromRealm", Some(&mx.from_realm), meaning);
        fields.text("_mx.incomingProfile", Some(mx.incoming_profile.name()), "how it came in");
        fields.text("_mx.msgId", mx.msg_id.as_deref(), "the envelope's id");
        fields.text("_mx.principalKey", mx.principal_key.as_deref(), "for whom it is sent");
        fields.text("_mx.traceId", mx.trace_id.as_deref(), "ties it to a trace");
    }
    fields.raw("envelope", request.envelope.as_ref(), "the whole envelope that came in");
    explained.fields = fields.0;
    Some(explained)
}
