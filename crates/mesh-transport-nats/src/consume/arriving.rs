//! What arrives where a consumer's deliveries do. The server pushes them there; what else comes is none of
//! the consumer's, whoever sent it (protocol §4).

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use async_nats::Subject;
use futures_core::Stream;
use mesh_core::port::{ReceiveError, RefusalReason};
use mesh_core::topology::AckNumbers;
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

use super::Reading;
use super::reading::{Held, State};
use crate::convert::Recent;

/// How many words about what is no delivery wait for a reader that does not come.
const WORDS: usize = 256;

impl Reading {
    /// Whether it is a delivery of this consumer: it is settled where nobody else is. Nothing is ever said
    /// to where any other message points.
    pub(super) fn is_own(&self, message: &async_nats::Message) -> bool {
        message.reply.as_ref().is_some_and(|ack| self.prefix.read(ack).is_some())
    }

    /// Takes what has arrived for a reader that does not come, so that it can be reported on.
    pub(super) fn collect(&self) {
        let mut state = self.state.lock();
        let waker = state.waker.clone().unwrap_or_else(|| Waker::noop().clone());
        let since = Instant::now();
        let mut passed_over = 0_u64;
        while let Poll::Ready(Some(message)) = state.arrived_at_all(&waker) {
            if self.is_own(&message) {
                state.held.push_back(Held { message, since });
            } else if state.words.len() < WORDS {
                let word = foreign(&message, &mut state.recent);
                state.words.push_back(word);
            } else {
                passed_over += 1;
            }
        }
        if passed_over > 0 {
            tracing::warn!(consumer = %self.consumer, passed_over, "messages that are no deliveries");
        }
        if !state.held.is_empty() || !state.words.is_empty() {
            self.wake(state);
        }
    }

    /// Drops the claim on another message of the same number. Its stream was made anew, and to the server
    /// the number is all there is: the verdict on the old one would settle the new one, unseen.
    pub(super) fn forget_namesake(&self, new: AckNumbers, state: &mut State) {
        if new.stream_sequence > state.highest {
            state.highest = new.stream_sequence;
            return;
        }
        let is_other = |ack: &Subject| {
            self.prefix.read(ack).is_some_and(|old| {
                old.stream_sequence == new.stream_sequence && old.time != new.time
            })
        };
        state.claims.retain(|_, ack| !is_other(ack));
    }
}

impl State {
    /// What waits here, else what the server sends next.
    pub(super) fn next(&mut self, context: &mut Context<'_>) -> Poll<async_nats::Message> {
        if let Some(held) = self.held.pop_front() {
            return Poll::Ready(held.message);
        }
        match self.arrived(context) {
            Poll::Ready(Some(message)) => Poll::Ready(message),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }

    /// What the server sends next.
    fn arrived(&mut self, context: &mut Context<'_>) -> Poll<Option<async_nats::Message>> {
        let Some(source) = &mut self.source else { return Poll::Ready(None) };
        let arrived = Pin::new(source).poll_next(context);
        if let Poll::Ready(None) = arrived {
            // The session is lost. The keeper places it in the next.
            self.source = None;
        }
        arrived
    }

    /// The same, not counted as the task's work: tokio lets 128 through in a turn, and takes what comes
    /// then for not there.
    fn arrived_at_all(&mut self, waker: &Waker) -> Poll<Option<async_nats::Message>> {
        let arrived = pin!(unconstrained(poll_fn(|context| self.arrived(context))));
        arrived.poll(&mut Context::from_waker(waker))
    }
}

/// The word about a message that is no delivery of this consumer.
pub(super) fn foreign(message: &async_nats::Message, recent: &mut Recent) -> ReceiveError {
    match recent.subject(&message.subject) {
        Some(subject) => ReceiveError::Refused { subject, reason: RefusalReason::ForeignAck },
        None => ReceiveError::Lagged { lost: 1 },
    }
}
