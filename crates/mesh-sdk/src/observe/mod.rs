//! What a service sees of the SDK: spans, metrics, and the trace that goes from message to message.

mod asking;
mod consuming;
mod gauge;
mod metrics;
mod propagator;
mod sending;
mod serving;
mod verbs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mesh_core::event::TraceContext;
use mesh_core::port::{Clock, Connection};
use tracing::Span;

use crate::causation::trace;
use crate::ids::Ids;

pub(crate) use asking::Requests;
pub(crate) use consuming::{Arriving, Consumption, Handling};
pub(crate) use gauge::Gauge;
pub use metrics::describe_metrics;
pub(crate) use metrics::{Metric, tell_bound};
pub use propagator::Propagator;
pub(crate) use sending::Publishing;
pub(crate) use serving::{Counts, Serving};
pub(crate) use verbs::noted;

/// What all that is observed of one broker has in common.
pub(crate) struct Observer {
    system: &'static str,
    clock: Arc<dyn Clock>,
    ids: Arc<Ids>,
    propagator: Option<Arc<dyn Propagator>>,
}

impl Observer {
    pub(crate) fn new(
        connection: &Connection,
        ids: Arc<Ids>,
        propagator: Option<Arc<dyn Propagator>>,
    ) -> Self {
        let (system, clock) = (connection.system(), Arc::clone(connection.clock()));
        Self { system, clock, ids, propagator }
    }

    /// The trace that goes with what is sent in `span`: as it was given, else the tracer's, else that of
    /// the handler that sends it, with a span of its own.
    fn outgoing(&self, given: Option<TraceContext>, span: &Span) -> TraceContext {
        let is_given = given.is_some();
        let here = given.map_or_else(trace, TraceContext::accepted);
        if let Some(propagator) = self.propagator.as_ref().filter(|_| !is_given) {
            let mut told = unharmed(|| propagator.inject(span)).accepted();
            if told.traceparent.is_some() {
                told.baggage = told.baggage.or(here.baggage);
                return told;
            }
        }
        self.child(&here)
    }

    /// The trace that a handler's work has: a span of its own in the trace that came, which `span`
    /// continues.
    fn incoming(&self, came: &TraceContext, span: &Span) -> TraceContext {
        let came = came.clone().accepted();
        if let Some(propagator) = &self.propagator {
            unharmed(|| propagator.extract(&came, span));
        }
        let here = self.child(&came);
        if let Some(parent) = here.parent() {
            span.record("trace_id", format_args!("{:032x}", parent.trace_id()));
            span.record("span_id", format_args!("{:016x}", parent.span_id()));
        }
        here
    }

    fn child(&self, of: &TraceContext) -> TraceContext {
        match of.traceparent {
            // Ids are drawn only where there is a trace.
            Some(_) => of.child(self.ids.span()),
            None => of.clone(),
        }
    }
}

/// What a propagator says, or nothing where it panics: it is another's code, and no reason to keep a message
/// from going on.
fn unharmed<T: Default>(ask: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|_| {
        tracing::error!("the propagator panicked; the trace goes on without it");
        T::default()
    })
}
