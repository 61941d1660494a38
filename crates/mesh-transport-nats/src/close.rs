//! Ending a connection: what was accepted reaches the server, what is unsettled goes back.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{CloseReport, Operation};
use mesh_session::Tally;
use tokio::time::{Instant, timeout_at};

use crate::link::{Link, closed};

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
    let doubtful = link.readings().iter().map(|reading| reading.in_doubt()).sum::<u64>();
    if let Some(session) = link.line.drain(due).await {
        // Whoever publishes after this finds nobody here.
        let _ = session.handled(Operation::Close, due).await;
    }
    let last = link.line.close();
    if let Some(session) = &last {
        session.pending.end(&closed(Operation::Close));
    }
    // Each call that is under way has its outcome now, and counts once its task has seen it.
    let _ = tokio::time::timeout(GRACE, link.line.accepted().idle()).await;
    let Tally { brought: finished, lost } = link.line.accepted().tally().since(before);
    let lost = lost + doubtful;
    if !settled || lost > 0 {
        tracing::warn!(lost, "the connection was closed before the server had everything");
    }
    if let Some(session) = last {
        session.abandon("it was closed");
    }
    link.line.tell_closed();
    CloseReport { finished, released, lost }
}

/// Leaves every consumer and gives back what is unsettled; how many those were.
async fn release(link: &Arc<Link>, due: Instant) -> u64 {
    let mut released = 0;
    for reading in link.readings() {
        // Without an answer from the server the rest waits for its claim to run out.
        released += timeout_at(due, reading.leave()).await.unwrap_or_default();
        released += reading.revoke();
    }
    released
}

/// Waits until appends are confirmed, publishes are handled and verdicts have arrived.
async fn finish(link: &Arc<Link>, due: Instant) -> bool {
    let window = u32::try_from(link.options.append_window.get()).unwrap_or(u32::MAX);
    // The places are given back at once: no more than this is to be known of them.
    let appends = timeout_at(due, link.window.acquire_many(window)).await.is_ok();
    let settled = || link.readings().iter().all(|reading| reading.is_settled());
    if link.line.session_now().is_none() && link.line.accepted().is_idle() && settled() {
        // Nothing is owed that another session could bring.
        return appends;
    }
    let Ok(session) = link.line.session(Operation::Close, due).await else {
        return appends && link.line.accepted().is_idle();
    };
    let mut settled = appends;
    settled &= session.handled(Operation::Close, due).await.is_ok();
    for reading in link.readings() {
        settled &= reading.confirm(&session, Operation::Close, due).await.is_ok();
    }
    settled
}
