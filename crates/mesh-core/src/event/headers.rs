//! The headers' names, and which header of several counts.

use super::{EventError, EventProblem};

/// The event's id; required.
pub const EVENT_ID: &str = "x-event-id";
/// The emitting module; required.
pub const SOURCE: &str = "x-source";
/// The emitting node; required.
pub const NODE: &str = "x-node";
/// When it was emitted; required.
pub const TIME: &str = "x-time";
/// The body's type; required. On AMQP it is the basic property of that name.
pub const CONTENT_TYPE: &str = "content-type";
/// What caused the event.
pub const CAUSATION_ID: &str = "x-causation-id";
/// The version of the data's shape.
pub const SCHEMA: &str = "x-schema";
/// W3C trace context.
pub const TRACEPARENT: &str = "traceparent";
/// W3C trace context.
pub const TRACESTATE: &str = "tracestate";
/// W3C baggage.
pub const BAGGAGE: &str = "baggage";

/// The content type of header mode.
pub const JSON: &str = "application/json";
/// The content type of structured mode.
pub const STRUCTURED: &str = "application/vnd.mesh.event+json";

/// The headers that become facts of an event; all others are extra.
pub(super) const KNOWN: [&str; 10] = [
    EVENT_ID,
    SOURCE,
    NODE,
    TIME,
    CONTENT_TYPE,
    CAUSATION_ID,
    SCHEMA,
    TRACEPARENT,
    TRACESTATE,
    BAGGAGE,
];

/// The headers of one message, as they came.
pub(super) struct Headers<'a>(pub(super) Vec<(&'a str, &'a str)>);

impl<'a> Headers<'a> {
    /// The values of `name` that count: those spelt in lower case, else those in any case.
    fn of(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let exact = self.0.iter().any(|(found, _)| *found == name);
        self.0.iter().filter_map(move |(found, value)| {
            let counts = *found == name || (!exact && found.eq_ignore_ascii_case(name));
            counts.then_some(*value)
        })
    }

    /// The one value of `name`; two that differ are refused, as two readers could each take one.
    pub(super) fn one(&self, name: &'static str) -> Result<Option<&'a str>, EventError> {
        let mut values = self.of(name);
        let first = values.next();
        if values.any(|value| Some(value) != first) {
            return Err(EventError::new(name, EventProblem::Conflict));
        }
        Ok(first)
    }

    /// All values of `name`, joined as HTTP joins a list.
    pub(super) fn joined(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self.of(name).collect();
        (!values.is_empty()).then(|| values.join(","))
    }
}
