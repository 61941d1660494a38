//! A handler whose events have an order: each runs in its turn, and keeps it until it is handled or
//! given up.

use std::future::Future;

use mesh_core::port::DeliveryInfo;
use mesh_core::store::HandledKey;

use super::{Dispatcher, Undone};
use crate::event::{HandlerError, ReceivedEvent};
use crate::handlers::Registered;
use crate::lanes::Turn;
use crate::observe::Arriving;
use crate::places::{Place, until_stopped};

/// A handler that is due in its turn.
pub(super) struct Due<'a> {
    pub(super) turn: &'a Turn,
    pub(super) registered: &'a Registered,
    pub(super) measured: &'a Arriving,
    pub(super) info: DeliveryInfo,
}

impl Dispatcher {
    /// Runs the handler in the event's turn, as often as there are tries left. What is to be tried again
    /// is not given back for that: the broker would give what came after it first.
    pub(super) async fn in_turn(
        &self,
        due: Due<'_>,
        key: &HandledKey,
        received: &ReceivedEvent,
        place: &Place,
    ) -> Result<(), Undone> {
        if !due.turn.has_come() {
            let _held_back = self.observed.held_back.enter();
            aside(place, due.turn.come()).await?;
        }
        let mut received = received.clone();
        loop {
            let error = match self.run(key.clone(), due.registered, received.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) if !error.is_retry() => return Err(error.into()),
                Err(error) => error,
            };
            if due.info.max_attempts.is_some_and(|most| received.attempt >= most) {
                return Err(HandlerError::reject(error.to_string()).into());
            }
            due.measured.again();
            aside(place, self.clock.sleep(self.wait(&error, received.attempt))).await?;
            received.attempt += 1;
        }
    }
}

/// Waits for `work` without a place among the handlers, and for a place then.
async fn aside(place: &Place, work: impl Future<Output = ()> + Send) -> Result<(), Undone> {
    place.leave();
    let mut stop = place.stop();
    let back = async {
        work.await;
        place.come_back().await;
    };
    tokio::select! {
        biased;
        () = until_stopped(&mut stop) => Err(Undone::Stopped),
        () = back => Ok(()),
    }
}
