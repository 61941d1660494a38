//! Settling a claim: a few bytes to its address, before anything that is sent later.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Subject;
use async_nats::message::OutboundMessage;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use mesh_core::port::{Operation, Settlement, TransportError, Verdict};

use super::Reading;
use crate::link::deadline;
use crate::session::Session;

pub(super) const PROGRESS: &[u8] = b"+WPI";
const NAK: &[u8] = b"-NAK";

/// How long settling waits for a connection that is away. Then the claim runs out by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// A delivery that was handed on.
pub(super) struct Claimed {
    pub(super) reading: Arc<Reading>,
    pub(super) claim: u64,
}

#[async_trait]
impl Settlement for Claimed {
    async fn settle(self: Box<Self>, verdict: Verdict) -> Result<(), TransportError> {
        let reading = &self.reading;
        let verb = verb(&verdict);
        if let Some(session) = reading.link.session_now() {
            let ack = reading.take(self.claim, Some(&verb))?;
            return say(&session, Operation::Settle, ack, verb).await;
        }
        let ack = reading.take(self.claim, None)?;
        let due = deadline(PATIENCE.min(reading.rules.ack_wait));
        let session = reading.link.session(Operation::Settle, due).await?;
        reading.note(&ack, &verb);
        say(&session, Operation::Settle, ack, verb).await
    }

    async fn progress(&self) -> Result<(), TransportError> {
        let reading = &self.reading;
        let ack = reading.state.lock().claims.get(&self.claim).cloned();
        let ack = ack.ok_or_else(|| crate::link::closed(Operation::Progress))?;
        let due = deadline(PATIENCE.min(reading.rules.ack_wait));
        let session = reading.link.session(Operation::Progress, due).await?;
        say(&session, Operation::Progress, ack, Bytes::from_static(PROGRESS)).await
    }

    fn release(self: Box<Self>) {
        if let Ok(ack) = self.reading.take(self.claim, None) {
            self.reading.give_back(ack);
        }
    }
}

impl Reading {
    fn note(&self, ack: &Subject, verb: &Bytes) {
        // More than the server lets be unsettled can't be in doubt: the oldest made room for the newest.
        self.state.lock().unconfirmed.push(ack, verb, self.rules.max_ack_pending);
    }

    /// Gives one delivery back, without waiting. Without a connection the claim runs out by itself.
    pub(super) fn give_back(self: &Arc<Self>, ack: Subject) {
        let Some(session) = self.link.session_now() else { return };
        let verb = Bytes::from_static(NAK);
        self.note(&ack, &verb);
        let mut saying = Box::pin(async move {
            if let Err(error) = say(&session, Operation::Settle, ack, verb).await {
                tracing::debug!(%error, "a delivery could not be given back; its claim runs out");
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

    /// Says again in a new session what the last one may have lost.
    pub(super) async fn repeat(&self, session: &Session) -> Result<(), TransportError> {
        let doubtful = self.state.lock().unconfirmed.list();
        for (ack, verb) in doubtful {
            say(session, Operation::Settle, ack, verb).await?;
        }
        Ok(())
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
) -> Result<(), TransportError> {
    let message = OutboundMessage { subject: ack, reply: None, payload: verb, headers: None };
    match session.send(operation, "an acknowledgement", message)? {
        Some(handing) => handing.await,
        None => Ok(()),
    }
}
