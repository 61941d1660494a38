//! One reader of a consumer: what came for it, and what it was handed.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use lapin::message::Delivery as Came;
use mesh_core::port::{
    ConsumeOptions, Delivery, DeliveryInfo, ReceiveError, RefusalReason, TransportError,
};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{ConsumerRef, ConsumerRules, StreamName};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::arrival::{self, Arrival};
use super::seat;
use super::settle::Claimed;
use super::state::{Say, State};
use crate::counters::count;
use crate::link::Link;
use crate::session::Session;

/// See the module.
pub(crate) struct Reading {
    pub(super) id: u64,
    pub(super) link: Arc<Link>,
    pub(super) consumer: ConsumerRef,
    pub(super) rules: ConsumerRules,
    pub(super) queues: Vec<String>,
    patterns: Vec<Filter>,
    pub(super) in_flight: usize,
    pub(super) state: Mutex<State>,
    /// Held by whoever leaves.
    pub(super) leaving: tokio::sync::Mutex<()>,
    /// Tells its keeper that something changed.
    pub(super) stirred: Notify,
}

impl Reading {
    pub(super) fn new(link: &Arc<Link>, consumer: ConsumerRef, options: ConsumeOptions) -> Self {
        let rules = options.rules.unwrap_or_else(|| ConsumerRules::of(consumer.stream));
        let in_flight = match consumer.stream {
            // A newer declaration is given to whoever holds an older one.
            StreamName::Nodes => options.in_flight.get(),
            _ => options.in_flight.get().min(rules.max_ack_pending.max(1)),
        };
        Self {
            id: link.line.next_id(),
            link: Arc::clone(link),
            rules,
            queues: consumer.amqp_queues(),
            patterns: options.patterns,
            in_flight,
            consumer,
            state: Mutex::default(),
            leaving: tokio::sync::Mutex::default(),
            stirred: Notify::new(),
        }
    }

    /// How many deliveries of a queue may be out.
    pub(super) fn most(&self) -> u16 {
        u16::try_from(self.in_flight).unwrap_or(u16::MAX)
    }

    /// Takes a place in `session`.
    pub(super) async fn open(&self, session: &Session, due: Instant) -> Result<(), TransportError> {
        let taken = seat::take(session, &self.queues, self.most(), due).await;
        let (channel, sources) = taken.map_err(|error| error.about(self.consumer.to_string()))?;
        let mut state = self.state.lock();
        state.sit(channel, sources);
        self.wake(state);
        self.link.line.placed(self.id, session);
        Ok(())
    }

    /// The next delivery for the reader.
    pub(super) fn poll(
        self: &Arc<Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Delivery, ReceiveError>>> {
        let mut state = self.state.lock();
        loop {
            if let Some(word) = state.words.pop_front() {
                return Poll::Ready(Some(Err(word)));
            }
            if state.over {
                return Poll::Ready(None);
            }
            if let Some(end) = state.end.take() {
                state.over = true;
                return Poll::Ready(end.map(|error| Err(ReceiveError::Ended(error))));
            }
            let room = state.claims.len() < self.in_flight;
            let next = if room { state.arrived(context) } else { Poll::Pending };
            let Poll::Ready(came) = next else {
                let waker = context.waker();
                if !state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
                    state.waker = Some(waker.clone());
                }
                state.send_acks();
                if state.ended {
                    self.stirred.notify_one();
                }
                return Poll::Pending;
            };
            match self.admit(came, &mut state) {
                Some(Ok(delivery)) => return Poll::Ready(Some(Ok(delivery))),
                Some(Err(word)) => state.words.push_back(word),
                None => {}
            }
        }
    }

    /// What the reader is handed; a word where it is refused, nothing where it is not this consumer's.
    fn admit(
        self: &Arc<Self>,
        came: Came,
        state: &mut State,
    ) -> Option<Result<Delivery, ReceiveError>> {
        let claim = state.claim(came.delivery_tag);
        state.newest = claim.tag;
        let (attempt, uncounted) = arrival::attempt(&came, state.uncounted);
        state.uncounted = uncounted;
        let message = match arrival::read(&self.consumer, &self.link, came) {
            Arrival::Message(message) => message,
            Arrival::NotOurs => {
                state.say(claim, Say::Ack);
                return None;
            }
            Arrival::Refused(subject, reason) => {
                count(&self.link.counters.refused);
                // No other reader could read it either.
                state.say(claim, Say::Never);
                return Some(Err(word(subject, reason)));
            }
        };
        let fits = |filter: &Filter| filter.matches(message.subject());
        if !self.patterns.is_empty() && !self.patterns.iter().any(fits) {
            count(&self.link.counters.refused);
            // Another reader may be one who asked for it.
            state.hold(claim, claim.since + self.rules.ack_wait);
            self.stirred.notify_one();
            let subject = Some(message.subject().clone());
            return Some(Err(word(subject, RefusalReason::UnexpectedSubject)));
        }
        let info = DeliveryInfo {
            attempt,
            max_attempts: self.rules.max_deliver,
            ack_wait: None,
            sequence: None,
        };
        let claim = state.hand_on(claim);
        let settlement = Claimed { reading: Arc::clone(self), claim };
        Some(Ok(Delivery::new(message, info, Box::new(settlement))))
    }

    /// Ends it for its reader, after nothing more: for a reason, or on purpose.
    pub(super) fn end(&self, error: Option<TransportError>) {
        let mut state = self.state.lock();
        state.end.get_or_insert(error);
        self.wake(state);
    }

    /// Takes a claim to settle it: each is settled once.
    pub(super) fn wake(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether a reader that waits for room may go on once a claim is settled.
    pub(super) fn is_full(&self, state: &State) -> bool {
        state.claims.len() >= self.in_flight
    }
}

/// What the reader is told of a refusal. What has no subject was lost.
fn word(subject: Option<Subject>, reason: RefusalReason) -> ReceiveError {
    match subject {
        Some(subject) => ReceiveError::Refused { subject, reason },
        None => ReceiveError::Lagged { lost: 1 },
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("consumer", &self.consumer).finish_non_exhaustive()
    }
}
