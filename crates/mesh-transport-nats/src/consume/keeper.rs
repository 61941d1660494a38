//! What goes on around a reading while its reader is busy: progress on what waits, a look whether the
//! consumer is still there, a place in the next session.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::Reading;
use super::settle::{PATIENCE, PROGRESS, say};
use crate::link::{Link, Stage, deadline};
use crate::session::Session;

/// The longest that a consumer which is gone stays unnoticed.
const LOOK: Duration = Duration::from_secs(1);
/// However short a claim is.
const SHORTEST: Duration = Duration::from_millis(10);
/// How long a consumer of a cluster may have nobody who answers for it before it counts as gone: the next
/// leader comes some seconds after the last one's loss.
const LEADERLESS: Duration = Duration::from_secs(60);

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
        self.link.forget(&self.reading);
        self.link.gone(self.reading.id);
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
                link.gone(reading.id);
                reading.leave().await;
            }
            error = revoked(reading, &session), if read => break Some(error),
            () = link.reached(Stage::Draining) => break None,
        }
    }
}

/// Returns when the server has taken the right to read away.
async fn revoked(reading: &Reading, session: &Session) -> TransportError {
    let (subject, group) = reading.address();
    let since = reading.since();
    session.revoked(Operation::Consume, subject.as_str(), group, since).await
}

/// For how long nobody has answered for a consumer.
#[derive(Debug, Default)]
struct Absence(Option<Instant>);

impl Absence {
    /// What a look at the consumer means: fails where it is gone for good, or may not be read.
    fn judge(
        &mut self,
        seen: Result<(), TransportError>,
        session: &Session,
    ) -> Result<Seen, TransportError> {
        match seen {
            Ok(()) => {
                self.0 = None;
                Ok(Seen::Here)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let since = *self.0.get_or_insert_with(Instant::now);
                if session.in_cluster() && since.elapsed() < LEADERLESS {
                    tracing::debug!(%error, "nobody answers for the consumer");
                    return Ok(Seen::Nobody);
                }
                Err(error)
            }
            Err(error) if error.kind() == ErrorKind::Denied => Err(error),
            Err(error) => {
                tracing::debug!(%error, "no word from the consumer");
                Ok(Seen::Nothing)
            }
        }
    }
}

enum Seen {
    Here,
    /// It is between two leaders, or gone.
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
    absence.judge(seen, session).map(drop)
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
        let Some(session) = link.session_after(last).await else { return Ok(None) };
        let due = deadline(link.options.connect_timeout);
        if !read || link.is_closing() {
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
        match absence.judge(opened, &session)? {
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
    fn is_settled(&self) -> bool {
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
