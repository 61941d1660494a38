//! Events: what a module says has happened (protocol §3).
//!
//! An event travels in one of two shapes. In header mode its facts are headers (`x-event-id`,
//! `x-source`, …) and the body is its data alone, byte for byte what the emitter wrote. In
//! structured mode the body is one JSON object of content type
//! `application/vnd.mesh.event+json` that holds the facts and the data. [`Event::decode`] reads
//! either; what is emitted is header mode unless asked.
//!
//! ```
//! use mesh_core::event::{Event, EventId};
//! use mesh_core::json::JsonText;
//! use mesh_core::time::Timestamp;
//!
//! let now = Timestamp::from_millis(1_767_225_600_000);
//! let id = EventId::v7(now, [7; 10]);
//! let data = JsonText::from_value(&serde_json::json!({"to": "bob"}))?;
//! let event = Event::new(id, "mail".parse()?, "n1".parse()?, now, data).caused_by("order-7".parse()?);
//!
//! let headers = event.headers();
//! assert!(headers.iter().any(|(name, value)| name == "x-time" && value == "2026-01-01T00:00:00.000Z"));
//! let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
//! assert_eq!(Event::decode(pairs, event.data().as_bytes().clone())?, event);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod encode;
mod error;
mod extra;
mod headers;
mod id;
mod trace;
mod trace_parent;
mod value;

#[cfg(test)]
mod tests;

use crate::json::JsonText;
use crate::name::{ModuleName, NodeName};
use crate::time::Timestamp;

pub use error::{EventError, EventProblem, Unverifiable};
pub use extra::{ExtraHeaders, ExtraProblem};
pub use headers::{
    BAGGAGE, CAUSATION_ID, CONTENT_TYPE, EVENT_ID, JSON, NODE, SCHEMA, SOURCE, STRUCTURED, TIME,
    TRACEPARENT, TRACESTATE,
};
pub use id::{EventId, EventIdError};
pub use trace::TraceContext;
pub use trace_parent::{TraceParent, TraceParentError};
pub use value::{decode_header, encode_header};

/// One event: its facts and its data. The event's name is in the subject, not here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    id: EventId,
    source: ModuleName,
    node: NodeName,
    time: Timestamp,
    causation: Option<EventId>,
    schema: Option<String>,
    trace: TraceContext,
    extra: ExtraHeaders,
    data: JsonText,
}

impl Event {
    /// An event of module `source` on `node`, both from the credential.
    #[must_use]
    pub fn new(
        id: EventId,
        source: ModuleName,
        node: NodeName,
        time: Timestamp,
        data: JsonText,
    ) -> Self {
        Self {
            id,
            source,
            node,
            time,
            causation: None,
            schema: None,
            trace: TraceContext::default(),
            extra: ExtraHeaders::default(),
            data,
        }
    }

    /// With the id of the event or command that caused this one.
    #[must_use]
    pub fn caused_by(mut self, cause: EventId) -> Self {
        self.causation = Some(cause);
        self
    }

    /// With the version of the data's shape; any text.
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// With the W3C trace context, which travels as it is.
    ///
    /// # Errors
    /// [`EventProblem::LineBreak`], naming the header.
    pub fn with_trace(mut self, trace: TraceContext) -> Result<Self, EventError> {
        for (name, value) in trace.headers() {
            value::check_line(name, value)?;
        }
        self.trace = trace;
        Ok(self)
    }

    /// With further headers, which are passed on.
    #[must_use]
    pub fn with_extra(mut self, extra: ExtraHeaders) -> Self {
        self.extra = extra;
        self
    }

    /// Its id, made by the emitter.
    #[must_use]
    pub fn id(&self) -> &EventId {
        &self.id
    }

    /// The module that says it emitted the event: a claim until
    /// [`verify_source`](Self::verify_source) has compared it with the subject.
    #[must_use]
    pub fn source(&self) -> &ModuleName {
        &self.source
    }

    /// The node that it says it was emitted on. A claim.
    #[must_use]
    pub fn node(&self) -> &NodeName {
        &self.node
    }

    /// When it was emitted, by the emitter's clock.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        self.time
    }

    /// The event or command that caused it.
    #[must_use]
    pub fn causation(&self) -> Option<&EventId> {
        self.causation.as_ref()
    }

    /// The version of the data's shape.
    #[must_use]
    pub fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// The trace context.
    #[must_use]
    pub fn trace(&self) -> &TraceContext {
        &self.trace
    }

    /// Headers that this crate gives no meaning to.
    #[must_use]
    pub fn extra(&self) -> &ExtraHeaders {
        &self.extra
    }

    /// The data, as the emitter wrote it.
    #[must_use]
    pub fn data(&self) -> &JsonText {
        &self.data
    }

    /// The id given to the broker, `<node>.<module>.<event id>`: brokers look for duplicates over
    /// a whole stream, so a bare id would let one module suppress another's event.
    #[must_use]
    pub fn publish_id(&self) -> String {
        let id = encode_header(self.id.as_str());
        format!("{}.{}.{id}", self.node, self.source)
    }

    /// Compares the claimed source with the module of the subject, which the broker enforced.
    ///
    /// # Errors
    /// [`Unverifiable`]: the event goes to the dead letters and is not handled.
    pub fn verify_source(&self, proven: &ModuleName) -> Result<(), Unverifiable> {
        if self.source == *proven {
            return Ok(());
        }
        Err(Unverifiable { claimed: self.source.clone(), proven: proven.clone() })
    }
}
