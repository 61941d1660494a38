//! From a delivery to the handlers that match it, and from their results to its settlement.

mod runs;
mod turns;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mesh_core::name::ConsumerName;
use mesh_core::port::{Capabilities, Clock, Delivery, DeliveryInfo, Reason, Verdict};
use mesh_core::store::{HandledKey, HandledStore};
use mesh_core::subject::{Filter, Subject};

use self::turns::Due;
use crate::claim::Claims;
use crate::event::{HandlerError, ReceivedEvent};
use crate::handlers::{Arrival, Handler, Handlers, Matched, Unmatched};
use crate::in_hand::InHand;
use crate::lanes::Turn;
use crate::observe::{Arriving, Consumption, Gauge};
use crate::places::Place;
use crate::received::received;
use crate::rejected::Rejections;
use crate::retry::RetryPolicy;
use crate::subscription::Subscription;
use crate::workers::Outcome;

/// A delivery in hand.
pub(crate) struct Arrived {
    /// The event, or why it is none.
    received: Result<(Arrival, Arc<ReceivedEvent>), Reason>,
    info: DeliveryInfo,
    measured: Arc<Arriving>,
    /// Its handlers, once they are known, with the turns that it holds on to.
    matched: Vec<Matched>,
}

impl Arrived {
    fn turns(&self) -> impl Iterator<Item = &Turn> {
        self.matched.iter().filter_map(|matched| matched.turn.as_ref()?.as_ref().ok())
    }
}

/// Why a handler has not handled an event.
enum Undone {
    /// It failed.
    Failed(HandlerError),
    /// It did not come to it, or not again: the broker leaves.
    Stopped,
}

impl From<HandlerError> for Undone {
    fn from(error: HandlerError) -> Self {
        Self::Failed(error)
    }
}

/// Knows the handlers, and settles each delivery by what they say.
pub(crate) struct Dispatcher {
    consumer: ConsumerName,
    clock: Arc<dyn Clock>,
    handled: Arc<dyn HandledStore>,
    retry: RetryPolicy,
    rejections: Rejections,
    handlers: Arc<Handlers>,
    observed: Consumption,
    claims: Claims,
    in_hand: InHand,
    /// Runs on events that an earlier run was cut off at.
    interrupted: AtomicU64,
}

impl Dispatcher {
    pub(crate) fn new(
        consumer: ConsumerName,
        clock: Arc<dyn Clock>,
        handled: Arc<dyn HandledStore>,
        retry: RetryPolicy,
        capabilities: &Capabilities,
        observed: Consumption,
    ) -> Self {
        Self {
            claims: Claims::new(Arc::clone(&clock), capabilities),
            rejections: Rejections::new(Arc::clone(&clock)),
            consumer,
            clock,
            handled,
            retry,
            handlers: Arc::new(Handlers::new(observed.unhandled())),
            observed,
            in_hand: InHand::default(),
            interrupted: AtomicU64::new(0),
        }
    }

    /// How many runs were told that an earlier one had been cut off.
    pub(crate) fn interrupted(&self) -> u64 {
        self.interrupted.load(Ordering::Relaxed)
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    /// Takes a handler; says whether it is not too late for one.
    pub(crate) fn register(&self, subscription: Subscription, handler: Handler) -> bool {
        let observed = self.observed.handling(&subscription.pattern);
        self.handlers.register(subscription, handler, observed)
    }

    /// What waits for its turn.
    pub(crate) fn held_back(&self) -> &Gauge {
        &self.observed.held_back
    }

    /// Takes in what has arrived. To be called in the order of arrival, and quick.
    pub(crate) fn arrive(&self, delivery: &Delivery) -> Arrived {
        let received = received(delivery).and_then(|received| {
            let key = Subject::new(format!("{}.{}", received.module, received.name))
                .map_err(|error| Reason::undecodable(error.to_string()))?;
            let received = Arc::new(received);
            Ok((self.handlers.arrive(key, Arc::clone(&received)), received))
        });
        if let Err(reason) = &received {
            tracing::warn!(subject = %delivery.message().subject(), %reason, "given up");
        }
        let (key, info) =
            (received.as_ref().ok().map(|(arrival, _)| arrival.key()), *delivery.info());
        let measured = self.observed.arrived(key, info.attempt);
        Arrived { received, info, measured, matched: Vec::new() }
    }

    /// Handles and settles what has arrived, renewing its claim meanwhile.
    pub(crate) async fn dispatch(
        &self,
        delivery: Delivery,
        mut arrived: Arrived,
        place: Place,
    ) -> Outcome {
        let _in_flight = self.observed.in_flight.enter();
        let deciding = async {
            let verdict = self.verdict(&mut arrived, &place).await;
            arrived.measured.decided(&verdict);
            if verdict == (Verdict::Nak { delay: None }) {
                // It goes back in its turn, before what came after it.
                for turn in arrived.turns() {
                    turn.come().await;
                }
            } else {
                arrived.matched.clear();
            }
            verdict
        };
        self.claims.settle(delivery, &place, deciding).await
    }

    async fn verdict(&self, arrived: &mut Arrived, place: &Place) -> Verdict {
        let Arrived { received, info, measured, matched } = arrived;
        let (arrival, received) = match received {
            Ok(received) => received,
            Err(reason) => return Verdict::Terminate(reason.clone()),
        };
        match arrival.handlers(&*self.clock, place).await {
            Ok(()) => {}
            Err(Unmatched::Nobody) => return self.nobody(arrival.key(), *info),
            Err(Unmatched::Stopped) => {
                *matched = arrival.begin();
                return Verdict::Nak { delay: None };
            }
        }
        *matched = arrival.begin();
        let (mut done, mut failures, mut stopped) = (Vec::new(), Vec::new(), false);
        for Matched { registered, turn } in matched.iter() {
            let key = self.key(registered.pattern.clone(), received);
            let result = match turn {
                None => self
                    .run(key.clone(), registered, (**received).clone())
                    .await
                    .map_err(Undone::from),
                Some(Err(error)) => Err(Undone::Failed(error.clone())),
                Some(Ok(turn)) => {
                    let due = Due { turn, registered, measured, info: *info };
                    self.in_turn(due, &key, received, place).await
                }
            };
            match result {
                Ok(()) => done.push(key),
                Err(Undone::Failed(error)) => failures.push((key, error)),
                Err(Undone::Stopped) => {
                    stopped = true;
                    break;
                }
            }
        }
        let verdict = match stopped {
            true => Verdict::Nak { delay: None },
            false => self.conclude(*info, &failures),
        };
        let again = matches!(verdict, Verdict::Nak { .. });
        for (key, error) in failures {
            if again && !error.is_retry() {
                self.rejections.note(key, &error);
            } else {
                self.rejections.forget(&key);
            }
        }
        if again {
            self.remember(done).await;
        }
        verdict
    }

    fn key(&self, handler: Filter, received: &ReceivedEvent) -> HandledKey {
        HandledKey {
            consumer: self.consumer.clone(),
            handler,
            module: received.module.clone(),
            event: received.event.id().clone(),
        }
    }

    /// An event that nobody handles is put back, for longer each time, so that it does not come before
    /// all others at once.
    fn nobody(&self, key: &Subject, info: DeliveryInfo) -> Verdict {
        self.handlers.tell(key, &self.consumer);
        if info.is_last_attempt() {
            return Verdict::Terminate(Reason::new(format!("no handler for {key}")));
        }
        Verdict::Nak { delay: Some(self.retry.after(info.attempt)) }
    }

    fn conclude(&self, info: DeliveryInfo, failures: &[(HandledKey, HandlerError)]) -> Verdict {
        let mut failures = failures.iter().map(|(_, failure)| failure);
        let Some(first) = failures.clone().next() else {
            return Verdict::Ack;
        };
        let again = failures.find(|failure| failure.is_retry());
        match again {
            Some(failure) if !info.is_last_attempt() => {
                Verdict::Nak { delay: Some(self.wait(failure, info.attempt)) }
            }
            _ => Verdict::Terminate(Reason::new(again.unwrap_or(first).to_string())),
        }
    }

    /// How long to wait after try number `attempt` has failed.
    fn wait(&self, failure: &HandlerError, attempt: u32) -> Duration {
        let wait = failure.wait().unwrap_or_else(|| self.retry.after(attempt));
        if wait > RetryPolicy::LONGEST {
            tracing::warn!(consumer = %self.consumer, ?wait, "a wait is cut to the longest");
        }
        wait.min(RetryPolicy::LONGEST)
    }
}
