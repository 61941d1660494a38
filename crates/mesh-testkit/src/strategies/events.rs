use mesh_core::event::{Event, EventId, ExtraHeaders, TraceContext};
use proptest::prelude::*;
use proptest::sample::select;

use super::{header_name, header_value, json_text, module_name, node_name, text, timestamp};

/// Any id of an event: made by us, or any emitter's.
pub fn event_id() -> impl Strategy<Value = EventId> {
    let ours = (timestamp(), any::<[u8; 10]>()).prop_map(|(time, bits)| EventId::v7(time, bits));
    let printable = prop::collection::vec(prop::char::range(' ', '~'), 1..=EventId::MAX_BYTES);
    let others =
        printable.prop_filter_map("never", |text| EventId::new(String::from_iter(text)).ok());
    prop_oneof![2 => ours, 1 => others]
}

/// One of three ids.
pub fn few_event_ids() -> impl Strategy<Value = EventId> {
    select(&["e1", "e2", "order 7%"][..]).prop_filter_map("never", |text| EventId::new(text).ok())
}

/// A trace context that may be sent, with any of its parts.
pub fn trace_context() -> impl Strategy<Value = TraceContext> {
    let well_formed = any::<u128>().prop_map(|id| format!("00-{id:032x}-{:016x}-01", id as u64));
    let parent = prop_oneof![well_formed, header_value().prop_map(|value| value.to_string())];
    let state = header_value().prop_map(|value| value.to_string());
    let baggage = header_value().prop_map(|value| value.to_string());
    let parts = (prop::option::of(parent), prop::option::of(state), prop::option::of(baggage));
    parts.prop_map(|(traceparent, tracestate, baggage)| {
        let mut trace = TraceContext::default();
        (trace.traceparent, trace.tracestate) = (traceparent, tracestate);
        trace.baggage = baggage;
        trace
    })
}

/// Up to four headers that an application adds: `x-` ones of any text, others of what travels as it
/// is, a name perhaps twice.
pub fn extra_headers() -> impl Strategy<Value = ExtraHeaders> {
    let names = select(&["x-tenant", "X-Tenant", "x-a%", "x-time-zone"][..]);
    let encoded = (names.prop_map(str::to_owned), text(0..=12));
    let plain = (header_name(), header_value())
        .prop_map(|(name, value)| (name.to_string(), value.to_string()));
    let headers = prop::collection::vec(prop_oneof![encoded, plain], 0..=4);
    headers.prop_map(|headers| {
        let mut extra = ExtraHeaders::default();
        for (name, text) in headers {
            // Names that are the event's own, or no HTTP token, are left out.
            let _ = extra.insert(&name, &text);
        }
        extra
    })
}

/// Any event, with any of its optional parts.
pub fn event() -> impl Strategy<Value = Event> {
    let facts = (event_id(), module_name(), node_name(), timestamp(), json_text());
    let cause = prop::option::of(event_id());
    let schema = prop::option::of(text(0..=12));
    let more = (cause, schema, trace_context(), extra_headers());
    (facts, more).prop_filter_map("never", |(facts, more)| {
        let (id, source, node, time, data) = facts;
        let (cause, schema, trace, extra) = more;
        let mut event = Event::new(id, source, node, time, data).with_extra(extra);
        if let Some(cause) = cause {
            event = event.caused_by(cause);
        }
        if let Some(schema) = schema {
            event = event.with_schema(schema);
        }
        event.with_trace(trace).ok()
    })
}
