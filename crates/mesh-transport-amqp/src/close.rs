//! Ending a connection: what was accepted reaches the broker, what is unsettled goes back.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{CloseReport, Operation};
use mesh_session::Tally;
use tokio::time::{Instant, timeout_at};

use crate::link::{Link, Phase, Stage};

/// How long the tasks of calls that are under way may take to see that they are over.
const GRACE: Duration = Duration::from_millis(200);

/// Ends it, and says what became of what was under way. Once begun it is brought to its end, also when
/// nobody waits for it any more.
pub(crate) async fn close(link: &Arc<Link>, due: Instant) -> CloseReport {
    let closing = run(Arc::clone(link), due);
    // Without a runtime there is no connection either.
    link.runtime.spawn(closing).await.unwrap_or_default()
}

async fn run(link: Arc<Link>, due: Instant) -> CloseReport {
    let link = &link;
    let mut first = false;
    link.stage.send_if_modified(|stage| {
        first = *stage == Stage::Open;
        if first {
            *stage = Stage::Closing;
        }
        first
    });
    if !first {
        // The other call reports.
        let mut phase = link.phase.subscribe();
        let over = phase.wait_for(|phase| matches!(phase, Phase::Closed));
        let _ = timeout_at(due, over).await;
        return CloseReport::default();
    }
    let before = link.accepted.ended();
    let released = release(link, due).await;
    let settled = finish(link, due).await;
    let doubtful = link.readers().iter().map(|reader| reader.in_doubt()).sum::<u64>();
    link.stage.send_replace(Stage::Draining);
    if link.session_now().is_some() {
        // Whoever publishes after this finds nobody here.
        let _ = timeout_at(due, link.places.empty()).await;
    }
    let last = link.phase.send_replace(Phase::Closed);
    if let Phase::Up(session) = &last {
        session.close(due).await;
    }
    // Each call that is under way has its outcome now, and counts once its task has seen it.
    let _ = tokio::time::timeout(GRACE, link.accepted.idle()).await;
    let Tally { brought: finished, lost } = link.accepted.tally().since(before);
    let lost = lost + doubtful;
    if !settled || lost > 0 {
        tracing::warn!(lost, "the connection was closed before the broker had everything");
    }
    link.tell_state();
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
    let mut settled = timeout_at(due, link.accepted.idle()).await.is_ok();
    for reader in link.readers() {
        settled &= reader.settled(Operation::Close, due).await.is_ok();
    }
    settled
}
