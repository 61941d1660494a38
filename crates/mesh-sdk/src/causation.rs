//! What caused what is being done now. Inside a handler every event that is published and every
//! call that is made names the event being handled, and continues its trace, without the handler's doing.

use std::future::Future;

use mesh_core::event::{EventId, TraceContext};

/// Where work comes from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    /// The event or command that caused it.
    pub(crate) cause: Option<EventId>,
    /// The span that it is done in.
    pub(crate) trace: TraceContext,
}

tokio::task_local! {
    static ORIGIN: Origin;
}

/// Runs `work` as coming from `origin`.
pub(crate) async fn coming_from<F: Future>(origin: Origin, work: F) -> F::Output {
    ORIGIN.scope(origin, work).await
}

/// What caused the work of this task, if it runs inside a handler.
pub(crate) fn cause() -> Option<EventId> {
    ORIGIN.try_with(|origin| origin.cause.clone()).ok().flatten()
}

/// The trace of this task's work, if it runs inside a handler.
pub(crate) fn trace() -> TraceContext {
    ORIGIN.try_with(|origin| origin.trace.clone()).unwrap_or_default()
}
