//! What goes on around a reading while its reader is busy: progress on what waits, a look whether the
//! consumer is still there, a place in the next session.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::Reading;
use super::settle::{PROGRESS, say};
use crate::link::{Link, Stage, deadline};
use crate::session::Session;

/// The longest that a consumer which is gone stays unnoticed.
const LOOK: Duration = Duration::from_secs(1);

/// Runs until the reader is gone and all is settled, or the connection is closed, or the consumer is.
pub(super) async fn keep(
    link: Arc<Link>,
    reading: Arc<Reading>,
    mut session: Arc<Session>,
    mut gone: watch::Receiver<()>,
) {
    let mut tick = tokio::time::interval(LOOK.min(reading.rules.ack_wait / 3));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut read = true;
    let end = loop {
        tokio::select! {
            _ = tick.tick() => {
                if !read && reading.is_settled() {
                    break None;
                }
                if let Err(error) = look(&reading, &session, read).await {
                    break Some(error);
                }
            }
            () = session.lost() => match again(&link, &reading, &session, read).await {
                Ok(Some(next)) => session = next,
                Ok(None) => break None,
                Err(error) => break Some(error),
            },
            _ = gone.changed(), if read => {
                read = false;
                link.gone(reading.id);
                reading.leave().await;
            }
            error = revoked(&reading, &session), if read => break Some(error),
            () = link.reached(Stage::Draining) => break None,
        }
    };
    if let Some(source) = reading.displace() {
        drop(source);
    }
    link.readings.lock().retain(|other| other.id != reading.id);
    link.gone(reading.id);
    reading.end(end);
}

/// Returns when the server has taken the right to read away.
async fn revoked(reading: &Reading, session: &Session) -> TransportError {
    let (subject, group) = reading.address();
    let since = reading.since();
    session.revoked(Operation::Consume, subject.as_str(), group, since).await
}

/// Progress on what waits, and a word from the consumer. Fails where the consumer is gone.
async fn look(
    reading: &Arc<Reading>,
    session: &Arc<Session>,
    read: bool,
) -> Result<(), TransportError> {
    if read {
        reading.collect();
        for ack in reading.due_for_progress() {
            // A connection that can't be told is lost, which the next turn sees.
            let _ = say(session, Operation::Progress, ack, Bytes::from_static(PROGRESS)).await;
        }
    }
    let due = deadline(reading.link.options.connect_timeout);
    match reading.confirm(session, Operation::Consume, due).await {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied) => Err(error),
        Err(error) => {
            tracing::debug!(%error, consumer = %reading.consumer, "no word from the consumer");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Takes its place in the next session; `None` if there will be none.
async fn again(
    link: &Arc<Link>,
    reading: &Arc<Reading>,
    last: &Session,
    read: bool,
) -> Result<Option<Arc<Session>>, TransportError> {
    let mut last = last.id;
    loop {
        let Some(session) = link.session_after(last).await else { return Ok(None) };
        last = session.id;
        // What waited was claimed in the old session and still is: the server knows no sessions.
        if reading.repeat(&session).await.is_err() {
            continue;
        }
        if !read {
            return Ok(Some(session));
        }
        let due = deadline(link.options.connect_timeout);
        match reading.open(&session, due).await {
            Ok(source) => {
                reading.place(&session, source);
                return Ok(Some(session));
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied) => {
                return Err(error);
            }
            Err(error) if session.stands() => {
                tracing::warn!(%error, "a consumer could not be read again; reconnecting");
                session.abandon();
            }
            Err(_) => {}
        }
    }
}

impl Reading {
    /// Whether nothing of it is left to be settled or confirmed.
    fn is_settled(&self) -> bool {
        let state = self.state.lock();
        state.claims.is_empty() && state.unconfirmed.is_empty()
    }

    /// The addresses of what has waited for a third of its claim since the server last heard of it.
    fn due_for_progress(&self) -> Vec<async_nats::Subject> {
        let now = Instant::now();
        let mut state = self.state.lock();
        let due = |since: Instant| now.duration_since(since) >= self.rules.ack_wait / 4;
        let waiting = state.held.iter_mut().filter(|held| due(held.since));
        waiting
            .filter_map(|held| {
                held.since = now;
                held.message.reply.clone()
            })
            .collect()
    }
}
