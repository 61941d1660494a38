//! Settling a claim: a few bytes to its address, before anything that is sent later.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Subject;
use async_nats::message::OutboundMessage;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt;
use mesh_core::port::{ErrorKind, Operation, Settlement, TransportError, Verdict};
use tokio::time::{Instant, timeout_at};

use super::Reading;
use super::leaving::Departure;
use super::verdicts::Unsaid;
use crate::link::{closed, deadline};
use crate::session::{Handed, Handing, Session};

pub(super) const PROGRESS: &[u8] = b"+WPI";
const NAK: &[u8] = b"-NAK";
/// The server counts the end of a delay in nanoseconds since 1970, 63 bits of them: what ends beyond that
/// would come again at once.
const LONGEST_DELAY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// How long settling waits for a connection that is away.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// A delivery that was handed on.
pub(super) struct Claimed {
    pub(super) reading: Arc<Reading>,
    pub(super) claim: u64,
}

#[async_trait]
impl Settlement for Claimed {
    async fn settle(self: Box<Self>, verdict: Verdict) -> Result<(), TransportError> {
        let Self { reading, claim } = *self;
        let session = reading.link.line.session_now();
        match reading.settle(claim, &verdict, session.as_deref())? {
            Settled::Said => Ok(()),
            unsaid => Box::pin(reading.settle_later(unsaid, session.as_deref())).await,
        }
    }

    async fn progress(&self) -> Result<(), TransportError> {
        let reading = &self.reading;
        let ack = reading.state.lock().claims.get(&self.claim).cloned();
        let ack = ack.ok_or_else(|| closed(Operation::Progress))?;
        let due = deadline(PATIENCE.min(reading.rules.ack_wait));
        let session = reading.link.line.session(Operation::Progress, due).await?;
        say(&session, Operation::Progress, ack, Bytes::from_static(PROGRESS), due).await
    }

    fn release(self: Box<Self>) {
        if let Ok(ack) = self.reading.take(self.claim) {
            self.reading.give_back(ack);
        }
    }
}

/// What became of a verdict.
enum Settled<'a> {
    /// The client has it.
    Said,
    /// The client has no room for it yet.
    Waits(u64, Handing<'a>),
    /// It is noted: without a connection now, it is said in the next.
    Noted(Unsaid),
    /// It would come back here: its reader leaves.
    Leaving(Subject, Bytes),
}

impl Reading {
    /// Takes a claim, notes the verdict on it and says it, in one go: each that is settled costs this.
    fn settle<'a>(
        &self,
        claim: u64,
        verdict: &Verdict,
        session: Option<&'a Session>,
    ) -> Result<Settled<'a>, TransportError> {
        let verb = verb(verdict);
        let mut state = self.state.lock();
        let full = state.claims.len() >= self.in_flight;
        let ack = state.claims.remove(&claim).ok_or_else(|| closed(Operation::Settle))?;
        let leaving = state.departure == Departure::Leaves;
        let settled = if leaving && matches!(verdict, Verdict::Nak { .. }) {
            Ok(Settled::Leaving(ack, verb))
        } else {
            let number = state.verdicts.add(&ack, &verb, false, self.rules.max_ack_pending);
            match session {
                None => Ok(Settled::Noted(Unsaid { number, ack, verb })),
                Some(session) => match handing(session, Operation::Settle, ack, verb) {
                    Ok(None) => {
                        state.verdicts.said(number, session.id);
                        Ok(Settled::Said)
                    }
                    Ok(Some(handing)) => Ok(Settled::Waits(number, handing)),
                    Err(error) => Err(error),
                },
            }
        };
        // Else the reader waits for the server, if for anything.
        if full {
            self.wake(state);
        }
        settled
    }

    /// What could not be said at once. `session`: where it waits for room.
    async fn settle_later(
        &self,
        settled: Settled<'_>,
        session: Option<&Session>,
    ) -> Result<(), TransportError> {
        let due = deadline(PATIENCE.min(self.rules.ack_wait));
        let noted = match settled {
            Settled::Said => return Ok(()),
            Settled::Waits(number, handing) => {
                said_by(due, handing, Operation::Settle).await?;
                if let Some(session) = session {
                    self.state.lock().verdicts.said(number, session.id);
                }
                return Ok(());
            }
            Settled::Noted(noted) => noted,
            Settled::Leaving(ack, verb) => {
                self.unless_leaving(due).await;
                self.note(ack, verb, false)
            }
        };
        let session = self.link.line.session(Operation::Settle, due).await?;
        self.say_noted(&session, noted, due).await
    }

    /// Remembers a verdict until the server has confirmed it.
    fn note(&self, ack: Subject, verb: Bytes, released: bool) -> Unsaid {
        let most = self.rules.max_ack_pending;
        let number = self.state.lock().verdicts.add(&ack, &verb, released, most);
        Unsaid { number, ack, verb }
    }

    async fn say_noted(
        &self,
        session: &Session,
        Unsaid { number, ack, verb }: Unsaid,
        due: Instant,
    ) -> Result<(), TransportError> {
        say(session, Operation::Settle, ack, verb, due).await?;
        self.state.lock().verdicts.said(number, session.id);
        Ok(())
    }

    /// Gives one delivery back, without waiting. Without a connection that is said in the next.
    pub(super) fn give_back(self: &Arc<Self>, ack: Subject) {
        let Some(ack) = self.defer(ack) else { return };
        let noted = self.note(ack, Bytes::from_static(NAK), true);
        let Some(session) = self.link.line.session_now() else { return };
        let reading = Arc::clone(self);
        let mut saying = Box::pin(async move {
            let due = deadline(PATIENCE);
            if let Err(error) = reading.say_noted(&session, noted, due).await {
                tracing::debug!(%error, "a delivery could not be given back yet");
            }
        });
        if (&mut saying).now_or_never().is_none() {
            self.link.line.runtime().spawn(saying);
        }
    }

    /// Gives back what was handed on, and so can't be settled any more; how many those were.
    pub(crate) fn revoke(self: &Arc<Self>) -> u64 {
        let claims = std::mem::take(&mut self.state.lock().claims);
        self.give_all_back(claims.into_values().collect())
    }

    pub(super) fn give_all_back(self: &Arc<Self>, given: Vec<Subject>) -> u64 {
        let count = given.len() as u64;
        given.into_iter().for_each(|ack| self.give_back(ack));
        count
    }

    /// Says in this session what was only said before it, or not at all.
    pub(super) async fn repeat(
        &self,
        session: &Session,
        due: Instant,
    ) -> Result<(), TransportError> {
        let unsaid = self.state.lock().verdicts.unsaid(session.id);
        for verdict in unsaid {
            self.say_noted(session, verdict, due).await?;
        }
        Ok(())
    }

    /// How many verdicts the server may not have.
    pub(crate) fn in_doubt(&self) -> u64 {
        self.state.lock().verdicts.in_doubt()
    }
}

fn verb(verdict: &Verdict) -> Bytes {
    match verdict {
        Verdict::Ack => Bytes::from_static(b"+ACK"),
        Verdict::Nak { delay: None } => Bytes::from_static(NAK),
        Verdict::Nak { delay: Some(delay) } => {
            format!("-NAK {{\"delay\": {}}}", delay.min(&LONGEST_DELAY).as_nanos()).into()
        }
        Verdict::Terminate(reason) => format!("+TERM {reason}").into(),
    }
}

/// Publishes a verb to an acknowledgement address.
pub(super) async fn say(
    session: &Session,
    operation: Operation,
    ack: Subject,
    verb: Bytes,
    due: Instant,
) -> Result<(), TransportError> {
    match handing(session, operation, ack, verb)? {
        None => Ok(()),
        Some(handing) => said_by(due, handing, operation).await,
    }
}

const WHAT: &str = "an acknowledgement";

fn handing(session: &Session, operation: Operation, ack: Subject, verb: Bytes) -> Handed<'_> {
    let message = OutboundMessage { subject: ack, reply: None, payload: verb, headers: None };
    session.send(operation, WHAT, message)
}

async fn said_by(
    due: Instant,
    handing: Handing<'_>,
    operation: Operation,
) -> Result<(), TransportError> {
    match timeout_at(due, handing).await {
        Ok(handed) => handed,
        Err(_) => Err(TransportError::new(ErrorKind::TimedOut, operation).about(WHAT)),
    }
}
