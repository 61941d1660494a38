//! What caused what is being done now. Inside a handler every event that is published and every
//! call that is made names the event being handled, without the handler's doing.

use std::future::Future;

use mesh_core::event::EventId;

tokio::task_local! {
    static CAUSE: Option<EventId>;
}

/// Runs `work` as caused by `cause`.
pub(crate) async fn caused_by<F: Future>(cause: Option<EventId>, work: F) -> F::Output {
    CAUSE.scope(cause, work).await
}

/// What caused the work of this task, if it runs inside a handler.
pub(crate) fn cause() -> Option<EventId> {
    CAUSE.try_with(Clone::clone).ok().flatten()
}
