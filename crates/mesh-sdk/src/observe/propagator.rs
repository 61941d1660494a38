use mesh_core::event::TraceContext;
use tracing::Span;

/// Joins the trace that messages carry with that of a tracer, such as `tracing-opentelemetry`:
/// [`BrokerBuilder::propagator`](crate::BrokerBuilder::propagator).
///
/// Without one the SDK passes a trace on by itself: what a handler sends has the trace of what it
/// handles, and a span of its own that no tracer knows.
///
/// With `tracing-opentelemetry` both ends are a few lines; `tests/tests/opentelemetry.rs` in the repository
/// has them whole:
///
/// ```text
/// impl Propagator for OpenTelemetry {
///     fn extract(&self, came: &TraceContext, span: &Span) {
///         let carrier = came.headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
///         let _ = span.set_parent(self.0.extract(&carrier.collect::<HashMap<_, _>>()));
///     }
///     fn inject(&self, span: &Span) -> TraceContext {
///         let mut carrier = HashMap::<String, String>::new();
///         self.0.inject_context(&span.context(), &mut carrier);
///         TraceContext::read(carrier.iter().map(|(name, value)| (&**name, &**value)))
///     }
/// }
/// ```
///
/// One that panics is logged, and the SDK's own trace taken.
pub trait Propagator: Send + Sync {
    /// `span` is about to begin, for a handler of a message that carried `came`: what W3C does not allow
    /// is left out of it, and it may be empty.
    fn extract(&self, came: &TraceContext, span: &Span);

    /// The trace that goes with what is sent in `span`. Without a `traceparent` the SDK takes its own. What
    /// W3C does not allow is left out.
    fn inject(&self, span: &Span) -> TraceContext;
}
