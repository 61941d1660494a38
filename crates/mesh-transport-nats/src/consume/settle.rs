//! Settling a claim: a few bytes to its address, before anything that is sent later.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Subject;
use async_nats::message::OutboundMessage;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use mesh_core::port::{ErrorKind, Operation, Settlement, TransportError, Verdict};
use tokio::time::{Instant, timeout_at};

use super::Reading;
use super::verdicts::Unsaid;
use crate::link::deadline;
use crate::session::Session;

pub(super) const PROGRESS: &[u8] = b"+WPI";
const NAK: &[u8] = b"-NAK";

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
        let reading = &self.reading;
        let ack = reading.take(self.claim)?;
        // Noted first: without a connection now, it is said in the next.
        let noted = reading.note(ack, verb(&verdict), false);
        let due = deadline(PATIENCE.min(reading.rules.ack_wait));
        let session = reading.link.session(Operation::Settle, due).await?;
        reading.say_noted(&session, noted, due).await
    }

    async fn progress(&self) -> Result<(), TransportError> {
        let reading = &self.reading;
        let ack = reading.state.lock().claims.get(&self.claim).cloned();
        let ack = ack.ok_or_else(|| crate::link::closed(Operation::Progress))?;
        let due = deadline(PATIENCE.min(reading.rules.ack_wait));
        let session = reading.link.session(Operation::Progress, due).await?;
        say(&session, Operation::Progress, ack, Bytes::from_static(PROGRESS), due).await
    }

    fn release(self: Box<Self>) {
        if let Ok(ack) = self.reading.take(self.claim) {
            self.reading.give_back(ack);
        }
    }
}

impl Reading {
    /// Remembers a verdict until the server has confirmed it.
    fn note(&self, ack: Subject, verb: Bytes, released: bool) -> Unsaid {
        let most = self.rules.max_ack_pending;
        self.state.lock().verdicts.add(ack, verb, released, most)
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
        let noted = self.note(ack, Bytes::from_static(NAK), true);
        let Some(session) = self.link.session_now() else { return };
        let reading = Arc::clone(self);
        let mut saying = Box::pin(async move {
            let due = deadline(PATIENCE);
            if let Err(error) = reading.say_noted(&session, noted, due).await {
                tracing::debug!(%error, "a delivery could not be given back yet");
            }
        });
        if (&mut saying).now_or_never().is_none() {
            self.link.runtime.spawn(saying);
        }
    }

    /// Leaves the consumer to others and gives back what waits here; how many those were. What was
    /// given back before the server knew that would come here again.
    pub(crate) async fn leave(self: &Arc<Self>) -> u64 {
        self.collect();
        let mut given = Vec::new();
        if let Some(mut source) = self.displace()
            && source.drain().await.is_ok()
        {
            // What the server had sent before it heard of this still comes.
            while let Some(message) = source.next().await {
                given.extend(message.reply);
            }
        }
        let held = std::mem::take(&mut self.state.lock().held);
        given.extend(held.into_iter().filter_map(|held| held.message.reply));
        self.give_all_back(given)
    }

    /// Gives back what was handed on, and so can't be settled any more; how many those were.
    pub(crate) fn revoke(self: &Arc<Self>) -> u64 {
        let claims = std::mem::take(&mut self.state.lock().claims);
        self.give_all_back(claims.into_values().collect())
    }

    fn give_all_back(self: &Arc<Self>, given: Vec<Subject>) -> u64 {
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
            format!("-NAK {{\"delay\": {}}}", delay.as_nanos()).into()
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
    const WHAT: &str = "an acknowledgement";
    let message = OutboundMessage { subject: ack, reply: None, payload: verb, headers: None };
    let Some(handing) = session.send(operation, WHAT, message)? else { return Ok(()) };
    match timeout_at(due, handing).await {
        Ok(handed) => handed,
        Err(_) => Err(TransportError::new(ErrorKind::TimedOut, operation).about(WHAT)),
    }
}
