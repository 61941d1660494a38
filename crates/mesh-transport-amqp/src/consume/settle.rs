//! The other end of a delivery.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use mesh_core::port::{ErrorKind, Operation, Settlement, TransportError, Verdict};
use mesh_core::topology::StreamName;
use tokio::time::Instant;

use super::Reading;
use super::state::{Claim, Say, State};
use crate::link::closed;

/// A delivery that was handed on.
pub(super) struct Claimed {
    pub(super) reading: Arc<Reading>,
    pub(super) claim: u64,
}

#[async_trait]
impl Settlement for Claimed {
    async fn settle(self: Box<Self>, verdict: Verdict) -> Result<(), TransportError> {
        let settled = self.reading.settle(self.claim, &verdict);
        settled.map_err(|error| error.about(self.reading.consumer.to_string()))
    }

    async fn progress(&self) -> Result<(), TransportError> {
        let state = self.reading.state.lock();
        let claim = state.claims.get(&self.claim).ok_or_else(|| closed(Operation::Progress))?;
        // It is given to nobody else while the channel stands.
        match state.may_settle(*claim) {
            true => Ok(()),
            false => Err(self.reading.lost(Operation::Progress)),
        }
    }

    fn release(self: Box<Self>) {
        // What can't be given back comes again by itself.
        let _ = self.reading.settle(self.claim, &Verdict::Nak { delay: None });
    }
}

impl Reading {
    fn settle(&self, claim: u64, verdict: &Verdict) -> Result<(), TransportError> {
        let mut state = self.state.lock();
        let full = self.is_full(&state);
        let claim = state.claims.remove(&claim).ok_or_else(|| closed(Operation::Settle))?;
        let settled = self.say(&mut state, claim, verdict);
        let done = state.claims.is_empty();
        if full {
            self.wake(state);
        } else {
            drop(state);
        }
        if done {
            self.stirred.notify_one();
        }
        settled
    }

    fn say(
        &self,
        state: &mut State,
        claim: Claim,
        verdict: &Verdict,
    ) -> Result<(), TransportError> {
        let say = match verdict {
            Verdict::Ack => Say::Ack,
            // A declaration that a newer one has replaced is not wanted again.
            Verdict::Nak { .. }
                if self.consumer.stream == StreamName::Nodes && claim.tag < state.newest =>
            {
                Say::Ack
            }
            Verdict::Nak { delay: Some(delay) } if !delay.is_zero() => {
                return self.give_back_later(state, claim, *delay);
            }
            Verdict::Nak { .. } => Say::Back,
            Verdict::Terminate(_) => Say::Never,
        };
        let (taken, tell) = match say {
            Say::Ack => state.ack(claim, self.in_flight),
            _ => (state.say(claim, say), false),
        };
        if tell {
            self.stirred.notify_one();
        }
        match taken {
            true => Ok(()),
            false => Err(self.lost(Operation::Settle)),
        }
    }

    /// Holds a delivery back: to the broker it is under work meanwhile, and one that is under work for too
    /// long costs the channel.
    fn give_back_later(
        &self,
        state: &mut State,
        claim: Claim,
        delay: Duration,
    ) -> Result<(), TransportError> {
        if !state.may_settle(claim) {
            return Err(self.lost(Operation::Settle));
        }
        let most = self.link.options.consumer_timeout;
        let now = Instant::now();
        match now.checked_add(delay).filter(|until| *until - claim.since < most) {
            Some(until) => {
                state.hold(claim, until);
                self.stirred.notify_one();
                Ok(())
            }
            None => {
                state.say(claim, Say::Back);
                Err(TransportError::new(ErrorKind::Invalid, Operation::Settle).detail(format!(
                    "a delay of {delay:?}, with the time that it was held, is longer than \
                     consumer_timeout, {most:?}; it was given back at once"
                )))
            }
        }
    }

    fn lost(&self, operation: Operation) -> TransportError {
        if self.link.line.is_closing() {
            return closed(operation);
        }
        TransportError::new(ErrorKind::Disconnected, operation)
            .detail("the channel that it came on is lost; it comes again")
    }
}
