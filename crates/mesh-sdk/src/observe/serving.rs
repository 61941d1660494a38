//! Calls of a tool that are answered.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::FutureExt as _;
use mesh_core::event::TraceContext;
use mesh_core::json::JsonText;
use mesh_core::subject::Subject;
use mesh_core::tool::{ToolFailure, codes};
use tracing::Instrument as _;
use tracing::field::Empty;

use super::metrics::{
    Attributes, BOUND, CALLS, CONSUMED, EXPIRED, LOST, Metric, PROCESS, count, time_end,
};
use super::sending::failed;
use super::{Gauge, Observer};
use crate::causation::{Origin, coming_from};
use crate::panics::panic_text;

/// What is observed of one tool.
pub(crate) struct Serving {
    observer: Arc<Observer>,
    tool: Subject,
    pub(crate) in_flight: Gauge,
    consumed: Metric,
    duration: Metric,
    expired: Metric,
    lost: Metric,
    /// Of all tools of the broker.
    counts: Arc<Counts>,
}

/// What is counted since the broker was built.
#[derive(Default)]
pub(crate) struct Counts {
    /// Calls whose time was over before a handler could run.
    pub(crate) expired: AtomicU64,
    /// Answers that did not reach their callers.
    pub(crate) lost: AtomicU64,
}

impl Serving {
    pub(crate) fn new(observer: Arc<Observer>, tool: Subject, counts: Arc<Counts>) -> Self {
        let attributes = Attributes::of(observer.system).destination(tool.to_string());
        let operation = |name, kind| attributes.clone().operation(name, kind);
        Self {
            in_flight: Gauge::new(attributes.metric(CALLS)),
            consumed: operation("handle", "receive").metric(CONSUMED),
            duration: operation("process", "process").metric(PROCESS),
            expired: attributes.metric(EXPIRED),
            lost: attributes.metric(LOST),
            observer,
            tool,
            counts,
        }
    }

    /// Whether the broker delivers.
    pub(crate) fn bound(&self) -> Metric {
        Attributes::of(self.observer.system).destination(self.tool.to_string()).metric(BOUND)
    }

    pub(crate) fn arrived(&self) {
        count(&self.consumed);
    }

    pub(crate) fn expired(&self) {
        self.counts.expired.fetch_add(1, Ordering::Relaxed);
        count(&self.expired);
    }

    pub(crate) fn lost(&self) {
        self.counts.lost.fetch_add(1, Ordering::Relaxed);
        count(&self.lost);
    }

    /// Runs the handler in a span of its own. A panic is a failure like any other.
    pub(crate) async fn handle(
        &self,
        cause: Option<mesh_core::event::EventId>,
        came: &TraceContext,
        bytes: usize,
        handling: impl Future<Output = Result<JsonText, ToolFailure>> + Send,
    ) -> Result<JsonText, ToolFailure> {
        let tool = &self.tool;
        let span = tracing::info_span!(
            target: "mesh_sdk",
            parent: None,
            "handle",
            otel.name = format_args!("handle {tool}"),
            otel.kind = "server",
            otel.status_code = Empty,
            messaging.system = self.observer.system,
            messaging.operation.name = "handle",
            messaging.operation.type = "process",
            messaging.destination.name = %tool,
            messaging.message.body.size = bytes,
            trace_id = Empty,
            span_id = Empty,
            error.type = Empty,
        );
        let trace = self.observer.incoming(came, &span);
        let (clock, origin) = (&self.observer.clock, Origin { cause, trace });
        let began = clock.monotonic();
        let handling = coming_from(origin, handling).instrument(span.clone());
        let (result, error) = match AssertUnwindSafe(handling).catch_unwind().await {
            Ok(Ok(output)) => (Ok(output), None),
            Ok(Err(failure)) => (Err(failure), Some("tool_failed")),
            Err(panic) => {
                let failure = ToolFailure::new(codes::PANICKED, panic_text(&*panic));
                (Err(failure), Some("panic"))
            }
        };
        time_end(&self.duration, clock.monotonic().saturating_sub(began), error);
        if let Some(error) = error {
            failed(&span, error);
        }
        result
    }
}
