//! Leaving a consumer: what goes back does so after the server knows that this reader is gone. Given back
//! before, it would be pushed here once more, come back unseen, and have lost a try.

use std::pin::pin;
use std::sync::Arc;

use async_nats::Subject;
use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::Reading;

/// Whether the server takes this for a reader of the consumer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Departure {
    #[default]
    Reads,
    /// Its reader is gone, and the server was not told yet.
    Leaves,
    Left,
}

impl Reading {
    /// Its reader is gone.
    pub(super) fn leaves(&self) {
        let mut state = self.state.lock();
        if state.departure == Departure::Reads {
            state.departure = Departure::Leaves;
        }
    }

    /// Leaves the consumer to others and gives back what waits here; how many those were.
    pub(crate) async fn leave(self: &Arc<Self>) -> u64 {
        let _alone = self.leaving.lock().await;
        self.leaves();
        self.collect();
        let mut given = Vec::new();
        if let Some(mut source) = self.displace()
            && source.drain().await.is_ok()
        {
            // What the server had sent before it heard of this still comes.
            while let Some(message) = source.next().await {
                if self.is_own(&message) {
                    given.extend(message.reply);
                }
            }
        }
        let held = std::mem::take(&mut self.state.lock().held);
        given.extend(held.into_iter().filter_map(|held| held.message.reply));
        self.has_left();
        self.give_all_back(given)
    }

    /// The client was told to tell the server: what was given back meanwhile can go now.
    pub(super) fn has_left(self: &Arc<Self>) {
        let deferred = {
            let mut state = self.state.lock();
            state.departure = Departure::Left;
            std::mem::take(&mut state.deferred)
        };
        self.left.notify_waiters();
        self.give_all_back(deferred);
    }

    /// Keeps what is given back for when this has left, if it leaves; else it is the caller's again.
    pub(super) fn defer(&self, ack: Subject) -> Option<Subject> {
        let mut state = self.state.lock();
        if state.departure != Departure::Leaves {
            return Some(ack);
        }
        state.deferred.push(ack);
        None
    }

    /// Returns when this does not leave, or has, or when the time is over.
    pub(super) async fn unless_leaving(&self, due: Instant) {
        loop {
            let mut left = pin!(self.left.notified());
            left.as_mut().enable();
            if self.state.lock().departure != Departure::Leaves {
                return;
            }
            if timeout_at(due, left).await.is_err() {
                return;
            }
        }
    }
}
