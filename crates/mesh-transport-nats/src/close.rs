//! Ending a connection: what was accepted reaches the server, what is unsettled goes back.

use std::sync::Arc;

use mesh_core::port::{CloseReport, Operation};
use tokio::time::Instant;

use crate::link::{Link, Phase, Stage, closed};

/// Ends it, and says what became of what was under way.
pub(crate) async fn close(link: &Arc<Link>, due: Instant) -> CloseReport {
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
        let _ = tokio::time::timeout_at(due, over).await;
        return CloseReport::default();
    }
    let under_way = link.under_way();
    let released = release(link, due).await;
    let settled = finish(link, due).await;
    let left = link.under_way();
    let finished = under_way.saturating_sub(left);
    if !settled {
        tracing::warn!(left, "the connection was closed before the server had everything");
    }
    link.stage.send_replace(Stage::Draining);
    if let Some(session) = link.session_now() {
        session.pending.end(&closed(Operation::Close));
    }
    link.phase.send_replace(Phase::Closed);
    link.tell_state();
    CloseReport { finished, released, lost: left }
}

/// Leaves every consumer and gives back what is unsettled; how many those were.
async fn release(link: &Arc<Link>, due: Instant) -> u64 {
    let readings = link.readings.lock().clone();
    let mut released = 0;
    for reading in readings {
        // Without an answer from the server the rest waits for its claim to run out.
        released += tokio::time::timeout_at(due, reading.leave()).await.unwrap_or_default();
        released += reading.revoke();
    }
    released
}

/// Waits until appends are confirmed, publishes are handled and verdicts have arrived.
async fn finish(link: &Arc<Link>, due: Instant) -> bool {
    let window = u32::try_from(link.options.append_window.get()).unwrap_or(u32::MAX);
    let appends = tokio::time::timeout_at(due, link.window.acquire_many(window)).await;
    let Ok(session) = link.session(Operation::Close, due).await else {
        return appends.is_ok() && link.under_way() == 0;
    };
    let mut settled = appends.is_ok();
    settled &= session.handled(Operation::Close, due).await.is_ok();
    let readings = link.readings.lock().clone();
    for reading in readings {
        settled &= reading.confirm(&session, Operation::Close, due).await.is_ok();
    }
    settled
}

impl Link {
    /// How many appends and publishes were accepted and are not yet with the server.
    fn under_way(&self) -> u64 {
        let window = self.options.append_window.get();
        let appends = window.saturating_sub(self.window.available_permits());
        let publishes = self.session_now().map_or(0, |session| session.pending.publishing());
        (appends + publishes) as u64
    }
}
