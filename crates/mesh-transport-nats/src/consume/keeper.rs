//! What goes on around a reading while its reader is busy: progress on what waits, a look whether the
//! consumer is still there, a place in the next session.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_session::Session as _;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::Reading;
use super::settle::{PATIENCE, PROGRESS, say};
use crate::absence::{Absence, FOR_A_READER};
use crate::link::{Link, Stage, deadline};
use crate::session::Session;

/// How often a reader looks whether its consumer is there.
const LOOK: Duration = Duration::from_secs(1);
/// However short a claim is.
const SHORTEST: Duration = Duration::from_millis(10);
/// Keeps a reading until the reader is gone and all is settled, or the connection is closed, or the
/// consumer is gone.
pub(super) async fn keep(
    link: Arc<Link>,
    reading: Arc<Reading>,
    session: Arc<Session>,
    gone: watch::Receiver<()>,
) {
    let mut ending =
        Ending { link, reading, end: Some(crate::link::runtime_ended(Operation::Consume)) };
    ending.end = attend(&ending.link, &ending.reading, session, gone).await;
}

/// Ends a reading when it is dropped, which a runtime that ends does too.
struct Ending {
    link: Arc<Link>,
    reading: Arc<Reading>,
    end: Option<TransportError>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        drop(self.reading.displace());
        self.reading.has_left();
        self.link.forget(&self.reading);
        self.link.line.gone(self.reading.id);
        self.reading.end(self.end.take());
    }
}

/// The answer is how it ends.
async fn attend(
    link: &Arc<Link>,
    reading: &Arc<Reading>,
    mut session: Arc<Session>,
    mut gone: watch::Receiver<()>,
) -> Option<TransportError> {
    let mut tick = tokio::time::interval(LOOK.min(reading.rules.ack_wait / 3).max(SHORTEST));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut read = true;
    let mut absence = Absence::default();
    loop {
        tokio::select! {
            _ = tick.tick() => {
                if !read && reading.is_settled() {
                    break None;
                }
                if let Err(error) = look(reading, &session, read, &mut absence).await {
                    break Some(error);
                }
            }
            () = session.lost() => {
                match again(link, reading, session.id, read, &mut absence).await {
                    Ok(Some(next)) => session = next,
                    Ok(None) => break None,
                    Err(error) => break Some(error),
                }
            }
            _ = gone.changed(), if read => {
                read = false;
                reading.leave().await;
                link.line.gone(reading.id);
            }
            error = revoked(reading, &session), if read => break Some(error),
            () = link.line.reached(Stage::Draining) => break None,
        }
    }
}

/// Returns when the server has taken the right to read away.
async fn revoked(reading: &Reading, session: &Session) -> TransportError {
    let (subject, group) = reading.address();
    let since = reading.since();
    session.revoked(Operation::Consume, subject.as_str(), group, since).await
}

/// What a look at the consumer means: fails where it is gone for good, or may not be read.
fn judge(
    seen: Result<(), TransportError>,
    session: &Session,
    absence: &mut Absence,
) -> Result<Seen, TransportError> {
    match seen {
        Ok(()) => {
            absence.over();
            Ok(Seen::Here)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if absence.is_final(session, FOR_A_READER) {
                return Err(error);
            }
            tracing::debug!(%error, "nobody answers for the consumer");
            Ok(Seen::Nobody)
        }
        Err(error) if error.kind() == ErrorKind::Denied => Err(error),
        Err(error) => {
            tracing::debug!(%error, "no word from the consumer");
            Ok(Seen::Nothing)
        }
    }
}

enum Seen {
    Here,
    /// It is gone, or its server stops, or it is between two leaders.
    Nobody,
    /// The server said nothing.
    Nothing,
}

/// Progress on what waits, and a word from the consumer. Fails where the consumer is gone.
async fn look(
    reading: &Arc<Reading>,
    session: &Arc<Session>,
    read: bool,
    absence: &mut Absence,
) -> Result<(), TransportError> {
    let due = deadline(PATIENCE);
    if read {
        reading.collect();
        for ack in reading.due_for_progress() {
            // A connection that can't be told is lost, which the next turn sees.
            let _ = say(session, Operation::Progress, ack, Bytes::from_static(PROGRESS), due).await;
        }
    }
    let seen = reading.look(session, Operation::Consume, due).await;
    judge(seen, session, absence).map(drop)
}

/// Takes its place in the next session; `None` if there will be none.
async fn again(
    link: &Arc<Link>,
    reading: &Arc<Reading>,
    mut last: u64,
    read: bool,
    absence: &mut Absence,
) -> Result<Option<Arc<Session>>, TransportError> {
    loop {
        let Some(session) = link.line.session_after(last).await else { return Ok(None) };
        let due = deadline(link.options.connect_timeout);
        if !read || link.line.is_closing() {
            // What is left to be settled is said by the next look.
            return Ok(Some(session));
        }
        reading.make_way(&session, due).await;
        let opened = match reading.open(&session, due).await {
            Ok(source) => {
                reading.place(&session, source);
                Ok(())
            }
            Err(error) => Err(error),
        };
        match judge(opened, &session, absence)? {
            Seen::Here => return Ok(Some(session)),
            Seen::Nobody if session.stands() => {}
            Seen::Nothing if session.stands() => {
                tracing::warn!("a consumer could not be read again; reconnecting");
                session.abandon("a consumer could not be read again");
            }
            Seen::Nobody | Seen::Nothing => last = session.id,
        }
    }
}

impl Reading {
    /// Whether nothing of it is left to be settled or confirmed.
    pub(crate) fn is_settled(&self) -> bool {
        let state = self.state.lock();
        state.claims.is_empty() && state.verdicts.is_empty()
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
