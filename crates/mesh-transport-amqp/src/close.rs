//! Ending a connection: what was accepted reaches the broker, what is unsettled goes back.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{CloseReport, Operation};
use mesh_session::Tally;
use tokio::time::{Instant, timeout_at};

use crate::link::Link;

/// How long the tasks of calls that are under way may take to see that they are over.
const GRACE: Duration = Duration::from_millis(200);

/// Ends it, and says what became of what was under way. Once begun it is brought to its end, also when
/// nobody waits for it any more.
pub(crate) async fn close(link: &Arc<Link>, due: Instant) -> CloseReport {
    let closing = run(Arc::clone(link), due);
    // Without a runtime there is no connection either.
    link.line.runtime().spawn(closing).await.unwrap_or_default()
}

async fn run(link: Arc<Link>, due: Instant) -> CloseReport {
    let link = &link;
    if !link.line.begin_close(due).await {
        return CloseReport::default();
    }
    let before = link.line.accepted().ended();
    let released = release(link, due).await;
    let settled = finish(link, due).await;
    let doubtful = link.readers().iter().map(|reader| reader.in_doubt()).sum::<u64>();
    // Whoever publishes after this finds nobody here.
    link.line.drain(due).await;
    if let Some(session) = link.line.close() {
        session.close(due).await;
    }
    // Each call that is under way has its outcome now, and counts once its task has seen it.
    let _ = tokio::time::timeout(GRACE, link.line.accepted().idle()).await;
    let Tally { brought: finished, lost } = link.line.accepted().tally().since(before);
    let lost = lost + doubtful;
    if !settled || lost > 0 {
        tracing::warn!(lost, "the connection was closed before the broker had everything");
    }
    link.line.tell_closed();
    CloseReport { finished, released, lost }
}

/// Leaves every consumer and gives back what is unsettled; how many those were.
async fn release(link: &Arc<Link>, due: Instant) -> u64 {
    let mut released = 0;
    for reader in link.readers() {
        // Without an answer from the broker the rest comes back when the connection ends.
        released += reader.leave(due).await;
    }
    released
}

/// Waits until publishes are confirmed and verdicts have arrived.
async fn finish(link: &Arc<Link>, due: Instant) -> bool {
    let mut settled = timeout_at(due, link.line.accepted().idle()).await.is_ok();
    for reader in link.readers() {
        settled &= reader.settled(Operation::Close, due).await.is_ok();
    }
    settled
}
