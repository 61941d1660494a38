//! A delivery while it is in hand: its claim is renewed, its wait for the next try is spent where the
//! broker can't wait, and in the end it is settled.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{Capabilities, Capability, Clock, Delivery, Operation, Verdict};

use crate::limit::{PATIENCE, within};
use crate::places::{Aside, Place, until_stopped};
use crate::workers::Outcome;

/// How often a delivery in hand is reported on where the transport does not say how long a claim
/// lasts; else it is a third of that (protocol §3).
const PROGRESS: Duration = Duration::from_secs(10);
/// The shortest span between reports, however short a claim is.
const SHORTEST: Duration = Duration::from_millis(10);

/// What is done with claims on one transport.
#[derive(Debug)]
pub(crate) struct Claims {
    clock: Arc<dyn Clock>,
    /// A claim ends unless it is renewed.
    ends: bool,
    /// The broker itself waits before the next try.
    broker_waits: bool,
}

impl Claims {
    pub(crate) fn new(clock: Arc<dyn Clock>, capabilities: &Capabilities) -> Self {
        Self {
            clock,
            ends: capabilities.has(Capability::ClaimTimeout),
            broker_waits: capabilities.has(Capability::DelayedNak),
        }
    }

    /// Settles `delivery` as `deciding` says, renewing its claim until then.
    pub(crate) async fn settle(
        &self,
        delivery: Delivery,
        place: &Place,
        deciding: impl Future<Output = Verdict> + Send,
    ) -> Outcome {
        let (verdict, outcome) = {
            let work = async { self.wait(deciding.await, place).await };
            self.renewing(&delivery, work).await
        };
        let settling = delivery.settle(verdict);
        if let Err(error) = within(&*self.clock, PATIENCE, Operation::Settle, settling).await {
            tracing::warn!(%error, "could not settle a delivery; it will come again");
        }
        outcome
    }

    /// Waits here where the broker can't (protocol §7), without keeping others from being handled. At
    /// a stop it is given back at once.
    async fn wait(&self, verdict: Verdict, place: &Place) -> (Verdict, Outcome) {
        let delay = match verdict {
            // Nobody has handled it.
            Verdict::Nak { delay: None } => return (verdict, Outcome::Released),
            Verdict::Nak { delay: Some(delay) } if !self.broker_waits => delay,
            verdict => return (verdict, Outcome::Finished),
        };
        let mut stop = place.stop();
        let aside = async {
            place.step_aside(Aside::Retry).await;
            std::future::pending::<Infallible>().await
        };
        let outcome = tokio::select! {
            biased;
            () = until_stopped(&mut stop) => Outcome::Released,
            () = self.clock.sleep(delay) => Outcome::Finished,
            never = aside => match never {},
        };
        (Verdict::Nak { delay: None }, outcome)
    }

    /// What `work` gives, the claim being renewed meanwhile.
    async fn renewing<F: Future + Send>(&self, delivery: &Delivery, work: F) -> F::Output {
        if !self.ends {
            return work.await;
        }
        tokio::select! {
            biased;
            done = work => done,
            never = self.renew(delivery) => match never {},
        }
    }

    async fn renew(&self, delivery: &Delivery) -> Infallible {
        let every = delivery.info().ack_wait.map_or(PROGRESS, |wait| wait / 3).max(SHORTEST);
        loop {
            self.clock.sleep(every).await;
            let renewing = delivery.progress();
            if let Err(error) = within(&*self.clock, every, Operation::Progress, renewing).await {
                tracing::debug!(%error, "could not report progress");
            }
        }
    }
}
