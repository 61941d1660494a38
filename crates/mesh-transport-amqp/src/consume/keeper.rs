//! What goes on around a reading while its reader is busy: what is given back in time, a look whether its
//! queue is still there, a place in the next session.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::time::Backoff;
use mesh_session::Session as _;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::Reading;
use super::leaving::parting;
use crate::link::{Link, Reader, Stage, deadline, runtime_ended};
use crate::session::Session;

/// The task of a reading. Dropped, which a runtime that ends does too, it ends the reading.
pub(super) struct Keeper {
    link: Arc<Link>,
    reading: Arc<Reading>,
    gone: watch::Receiver<()>,
    /// Whether somebody reads.
    read: bool,
    end: Option<TransportError>,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.reading.state.lock().stand_up());
        self.link.line.gone(self.reading.id);
        self.reading.end(self.end.take());
    }
}

/// What is next.
enum Turn {
    /// The session is over, or this place in it.
    Lost,
    /// The reader is gone.
    Left,
    /// Something is to be given back, or was settled.
    Stirred,
    /// The connection is closed.
    Closed,
}

impl Keeper {
    pub(super) fn new(link: &Arc<Link>, reading: &Arc<Reading>, gone: watch::Receiver<()>) -> Self {
        let (link, reading) = (Arc::clone(link), Arc::clone(reading));
        Self { link, reading, gone, read: true, end: Some(runtime_ended(Operation::Consume)) }
    }

    /// Takes a place, says so, and keeps it until the reader is gone and all is settled, or the connection
    /// is closed, or the consumer is gone.
    pub(super) async fn run(
        mut self,
        session: Arc<Session>,
        due: Instant,
        told: oneshot::Sender<Result<(), TransportError>>,
    ) {
        if let Err(error) = self.reading.open(&session, due).await {
            let _ = told.send(Err(error));
            self.end = None;
            return;
        }
        let reader = Arc::clone(&self.reading) as Arc<dyn Reader>;
        self.link.remember(&reader);
        // Whoever gave it up meanwhile is gone, and that is seen below.
        let _ = told.send(Ok(()));
        self.end = self.attend(session).await;
    }

    /// The answer is how it ends.
    async fn attend(&mut self, mut session: Arc<Session>) -> Option<TransportError> {
        let mut attempt = 0;
        let mut began = Instant::now();
        loop {
            match self.turn(&session).await {
                Turn::Closed => return None,
                Turn::Left => {
                    self.read = false;
                    self.reading.leave_seat(&session, parting()).await;
                    self.link.line.gone(self.reading.id);
                }
                Turn::Stirred => {
                    self.reading.state.lock().say_due(Instant::now());
                }
                Turn::Lost => {
                    drop(self.reading.state.lock().stand_up());
                    if !self.read {
                        return None;
                    }
                    // A place that was lost as soon as it was taken is no reason to hurry.
                    if began.elapsed() >= self.backoff().longest(attempt) {
                        attempt = 0;
                    }
                    match self.again(session, &mut attempt).await {
                        Ok(Some(next)) => session = next,
                        Ok(None) => return None,
                        Err(error) => return Some(error),
                    }
                    began = Instant::now();
                }
            }
            if !self.read && self.reading.state.lock().is_settled() {
                self.prove(&session).await;
                return None;
            }
        }
    }

    /// Stays until the broker has what was settled: whoever flushes or closes meanwhile finds it in doubt.
    async fn prove(&self, session: &Session) {
        while self.reading.in_doubt() > 0 && session.stands() {
            let proven = tokio::select! {
                proven = self.reading.settled(Operation::Consume, parting()) => proven,
                () = self.link.line.reached(Stage::Draining) => return,
            };
            match proven {
                Err(error) if error.kind() == ErrorKind::TimedOut => {}
                _ => return,
            }
        }
    }

    async fn turn(&mut self, session: &Session) -> Turn {
        let (due, ended) = {
            let state = self.reading.state.lock();
            (state.next_due(), state.ended)
        };
        if ended && self.read {
            if session.stands() {
                tracing::warn!(consumer = %self.reading.consumer, "the broker stopped delivering");
            }
            return Turn::Lost;
        }
        let due_or_never = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = session.over() => Turn::Lost,
            () = self.link.line.reached(Stage::Draining) => Turn::Closed,
            _ = self.gone.changed(), if self.read => Turn::Left,
            () = self.reading.stirred.notified() => Turn::Stirred,
            () = due_or_never => Turn::Stirred,
        }
    }

    /// Takes a place again; nothing if reader or connection are gone.
    ///
    /// # Errors
    /// `NotFound` and `Denied`, where it is of no use to try once more.
    async fn again(
        &mut self,
        mut last: Arc<Session>,
        attempt: &mut u32,
    ) -> Result<Option<Arc<Session>>, TransportError> {
        loop {
            let pause = self.backoff().pause(*attempt, rand::random());
            let (link, reading) = (Arc::clone(&self.link), Arc::clone(&self.reading));
            let known = last.id;
            let taking = async {
                let session = standing(&link, known, pause).await?;
                let opened = reading.open(&session, deadline(link.options.connect_timeout)).await;
                Some((session, opened))
            };
            let taken = tokio::select! {
                taken = taking => taken,
                _ = self.gone.changed() => None,
                () = self.link.line.reached(Stage::Draining) => None,
            };
            let Some((session, opened)) = taken else { return Ok(None) };
            match opened {
                Ok(()) => return Ok(Some(session)),
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, attempt, "a consumer can't be read yet");
                    *attempt = attempt.saturating_add(1);
                    last = session;
                }
            }
        }
    }

    fn backoff(&self) -> Backoff {
        let options = &self.link.options;
        Backoff { min: options.reconnect_min, max: options.reconnect_max }
    }
}

/// The session that stands: at once if it is another than the last, else after a pause.
async fn standing(link: &Link, last: u64, pause: Duration) -> Option<Arc<Session>> {
    if link.line.session_now().is_none_or(|session| session.id == last) {
        tokio::time::sleep(pause).await;
    }
    link.line.session_after(0).await
}

/// Whether the consumer is gone or may not be read, and that will not pass. A queue of a node that is down
/// is there.
fn is_final(error: &TransportError) -> bool {
    match error.kind() {
        ErrorKind::Denied => true,
        ErrorKind::NotFound => !error.to_string().contains("inaccessible"),
        _ => false,
    }
}
