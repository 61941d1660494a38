//! An event or a question that is sent.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::event::{EventId, TraceContext};
use mesh_core::name::{EventName, ModuleName};
use mesh_core::subject::Subject;
use mesh_core::topology::{MeshSubject, Topology};
use tracing::Span;
use tracing::field::Empty;

use super::Observer;
use super::metrics::{Attributes, Metric, OPERATION, SENT, count_end, time_end};

/// What is measured of one destination.
pub(super) struct Sent {
    messages: Metric,
    duration: Metric,
}

impl Sent {
    pub(super) fn to(observer: &Observer, operation: &'static str, destination: String) -> Self {
        let attributes = Attributes::of(observer.system);
        let attributes = attributes.operation(operation, "send").destination(destination);
        Self { messages: attributes.metric(SENT), duration: attributes.metric(OPERATION) }
    }
}

/// Something that is being sent. Dropped before its end it was given up.
pub(crate) struct Sending<'a> {
    observer: &'a Observer,
    sent: &'a Sent,
    span: Span,
    began: Duration,
    ended: bool,
}

impl<'a> Sending<'a> {
    pub(super) fn begin(observer: &'a Observer, sent: &'a Sent, span: Span) -> Self {
        let began = observer.clock.monotonic();
        Self { observer, sent, span, began, ended: false }
    }

    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// The trace that goes with it.
    pub(crate) fn trace(&self, given: Option<TraceContext>) -> TraceContext {
        self.observer.outgoing(given, &self.span)
    }

    /// It has ended well, or for this reason it has not.
    pub(crate) fn end(mut self, error: Option<&'static str>) {
        self.tell(error);
    }

    fn tell(&mut self, error: Option<&'static str>) {
        self.ended = true;
        let took = self.observer.clock.monotonic().saturating_sub(self.began);
        count_end(&self.sent.messages, error);
        time_end(&self.sent.duration, took, error);
        if let Some(error) = error {
            failed(&self.span, error);
        }
    }
}

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.tell(Some("cancelled"));
        }
    }
}

/// Says on a span that its work failed: the kind alone, as a text may hold what is secret.
pub(super) fn failed(span: &Span, error: &'static str) {
    span.record("error.type", error);
    span.record("otel.status_code", "ERROR");
}

/// The events of a module, by the names that its manifest has. Others have one destination together: a
/// metric must not grow with what is sent.
pub(crate) struct Publishing {
    observer: Arc<Observer>,
    known: HashMap<EventName, Sent>,
    other: Sent,
}

impl Publishing {
    pub(crate) fn new(
        observer: &Arc<Observer>,
        module: Option<&ModuleName>,
        emits: Vec<EventName>,
    ) -> Self {
        let sent = |destination| Sent::to(observer, "publish", destination);
        let other = module.map_or("*", ModuleName::as_str);
        let known = emits.into_iter().filter_map(|event| {
            let subject = MeshSubject::Event { module: module?.clone(), event: event.clone() };
            Some((event, sent(subject.to_subject().ok()?.to_string())))
        });
        Self {
            known: known.collect(),
            other: sent(Topology::events(format_args!("{other}.>")).to_string()),
            observer: Arc::clone(observer),
        }
    }

    pub(crate) fn begin(
        &self,
        event: &EventName,
        subject: &Subject,
        id: &EventId,
        bytes: usize,
    ) -> Sending<'_> {
        let span = tracing::info_span!(
            target: "mesh_sdk",
            "publish",
            otel.name = format_args!("publish {subject}"),
            otel.kind = "producer",
            otel.status_code = Empty,
            messaging.system = self.observer.system,
            messaging.operation.name = "publish",
            messaging.operation.type = "send",
            messaging.destination.name = %subject,
            messaging.message.id = %id,
            messaging.message.body.size = bytes,
            error.type = Empty,
        );
        Sending::begin(&self.observer, self.known.get(event).unwrap_or(&self.other), span)
    }
}
