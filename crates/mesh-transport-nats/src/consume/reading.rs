//! One reader of a consumer: what the server has pushed here, and what was handed on.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_nats::message::OutboundMessage;
use async_nats::{StatusCode, Subject, Subscriber};
use bytes::Bytes;
use mesh_core::port::{
    ConsumeOptions, Delivery, DeliveryInfo, ErrorKind, Operation, ReceiveError, RefusalReason,
    TransportError,
};
use mesh_core::subject::Filter;
use mesh_core::topology::{AckPrefix, ConsumerRef, ConsumerRules, DeliverySubject};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::arriving::foreign;
use super::leaving::Departure;
use super::settle::{self, Claimed};
use super::verdicts::Verdicts;
use crate::absence::{Absence, FOR_A_CALL};
use crate::convert::{self, Recent};
use crate::link::{Link, closed};
use crate::pending::Outcome;
use crate::session::{Op, Session, denied};

/// Between two looks for a consumer for which nobody answers.
const AGAIN: Duration = Duration::from_millis(200);

/// See the module.
pub(crate) struct Reading {
    pub(crate) id: u64,
    pub(crate) link: Arc<Link>,
    pub(crate) consumer: ConsumerRef,
    pub(crate) rules: ConsumerRules,
    patterns: Vec<Filter>,
    pub(super) in_flight: usize,
    pub(super) prefix: AckPrefix,
    /// An address of this consumer that belongs to no delivery, to ask whether it is there.
    nothing: Subject,
    /// How many subscriptions the session had lost by a withdrawn right when this one was made.
    since: AtomicU64,
    pub(super) state: Mutex<State>,
    /// Held by whoever leaves.
    pub(super) leaving: tokio::sync::Mutex<()>,
    pub(super) left: Notify,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) source: Option<Subscriber>,
    pub(super) held: VecDeque<Held>,
    pub(super) claims: FxHashMap<u64, Subject>,
    next_claim: u64,
    /// The highest number that a message had which was handed on.
    pub(super) highest: u64,
    pub(super) verdicts: Verdicts,
    pub(super) departure: Departure,
    /// What was given back since the reader is gone, until the server knows that it is.
    pub(super) deferred: Vec<Subject>,
    pub(super) words: VecDeque<ReceiveError>,
    pub(super) recent: Recent,
    end: Option<Option<TransportError>>,
    over: bool,
    pub(super) waker: Option<Waker>,
}

/// A delivery that waits for the reader.
pub(super) struct Held {
    pub(super) message: async_nats::Message,
    /// When the server was last told that it is held.
    pub(super) since: Instant,
}

impl Reading {
    pub(super) fn new(link: &Arc<Link>, consumer: ConsumerRef, options: ConsumeOptions) -> Self {
        let prefix = AckPrefix::of(&consumer);
        Self {
            id: link.line.next_id(),
            link: Arc::clone(link),
            rules: options.rules.unwrap_or_else(|| ConsumerRules::of(consumer.stream)),
            patterns: options.patterns,
            in_flight: options.in_flight.get(),
            nothing: Subject::from(prefix.of_no_delivery().as_str()),
            prefix,
            consumer,
            since: AtomicU64::new(0),
            state: Mutex::default(),
            leaving: tokio::sync::Mutex::default(),
            left: Notify::new(),
        }
    }

    pub(super) fn since(&self) -> u64 {
        self.since.load(Ordering::Relaxed)
    }

    /// Subscribes in `session`, once the consumer is known to be there.
    pub(super) async fn open(
        &self,
        session: &Session,
        due: Instant,
    ) -> Result<Subscriber, TransportError> {
        self.confirm(session, Operation::Consume, due).await?;
        let (subject, group) = self.address();
        self.since.store(session.revocations(), Ordering::Relaxed);
        session.listen(Operation::Consume, subject.as_str(), group, due).await
    }

    /// Where its deliveries come, and in which queue group.
    pub(super) fn address(&self) -> (mesh_core::subject::Subject, Option<&str>) {
        let subject = DeliverySubject::of(self.consumer.clone()).to_subject();
        (subject, self.rules.shared.then_some(self.consumer.consumer.as_str()))
    }

    pub(super) fn place(&self, session: &Session, source: Subscriber) {
        // What has arrived in the place before is still claimed.
        self.collect();
        let mut state = self.state.lock();
        state.source = Some(source);
        self.wake(state);
        self.link.line.placed(self.id, session);
    }

    /// Returns when the server has all that was settled before, and fails with `NotFound` where there is
    /// no such consumer.
    pub(crate) async fn confirm(
        &self,
        session: &Session,
        operation: Operation,
        due: Instant,
    ) -> Result<(), TransportError> {
        let mut absence = Absence::default();
        loop {
            match self.look(session, operation, due).await {
                Err(error)
                    if error.kind() == ErrorKind::NotFound
                        && !absence.is_final(session, FOR_A_CALL)
                        && Instant::now() + AGAIN < due =>
                {
                    tokio::time::sleep(AGAIN).await;
                }
                seen => return seen,
            }
        }
    }

    /// Asks once for a word by this consumer, which comes after all that was settled before.
    ///
    /// The only address a module may publish to at its consumer is that of an acknowledgement. Progress
    /// on a delivery that never was changes nothing, and is answered.
    pub(super) async fn look(
        &self,
        session: &Session,
        operation: Operation,
        due: Instant,
    ) -> Result<(), TransportError> {
        self.repeat(session, due).await?;
        let said = self.state.lock().verdicts.said_before(session.id);
        match self.ask(session, operation, due).await? {
            Word::Here => {
                self.state.lock().verdicts.confirmed(said);
                Ok(())
            }
            Word::Nobody => Err(TransportError::new(ErrorKind::NotFound, operation)
                .about(self.consumer.to_string())
                .retry(session.in_cluster())),
        }
    }

    async fn ask(
        &self,
        session: &Session,
        operation: Operation,
        due: Instant,
    ) -> Result<Word, TransportError> {
        let subject = &self.nothing;
        let (op, reply) = Op::asking(operation, subject, &session.confirmations);
        let op = Op { known: session.pending.known(subject).is_some(), ..op };
        let question = OutboundMessage {
            subject: subject.clone(),
            reply: Some(reply),
            payload: Bytes::from_static(settle::PROGRESS),
            headers: None,
        };
        let hand = || session.send(operation, subject, question);
        let outcome = session.operate(op, due, hand).await;
        match outcome.map_err(|error| error.about(self.consumer.to_string()))? {
            Outcome::Answer(answer) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
                Ok(Word::Nobody)
            }
            Outcome::Answer(_) | Outcome::Handled => {
                session.pending.learn(subject);
                Ok(Word::Here)
            }
            Outcome::Denied(words) => Err(denied(operation, &self.consumer.to_string(), words)),
            Outcome::Lost(error) => {
                Err(crate::publish::lost(operation, &self.consumer.to_string(), error))
            }
        }
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
            let next = if state.claims.len() < self.in_flight {
                state.next(context)
            } else {
                Poll::Pending
            };
            let Poll::Ready(message) = next else {
                let waker = context.waker();
                if !state.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
                    state.waker = Some(waker.clone());
                }
                return Poll::Pending;
            };
            match self.admit(message, &mut state) {
                Ok(delivery) => return Poll::Ready(Some(Ok(delivery))),
                Err(word) => state.words.push_back(word),
            }
        }
    }

    fn admit(
        self: &Arc<Self>,
        mut message: async_nats::Message,
        state: &mut State,
    ) -> Result<Delivery, ReceiveError> {
        let numbers = message.reply.as_ref().and_then(|ack| self.prefix.read(ack));
        let (Some(numbers), Some(ack)) = (numbers, message.reply.take()) else {
            return Err(foreign(&message, &mut state.recent));
        };
        let Ok(message) = convert::message_in(message, false, &mut state.recent) else {
            return Err(ReceiveError::Lagged { lost: 1 });
        };
        let fits = |filter: &Filter| filter.matches(message.subject());
        if !self.patterns.is_empty() && !self.patterns.iter().any(fits) {
            let (subject, reason) = (message.subject().clone(), RefusalReason::UnexpectedSubject);
            return Err(ReceiveError::Refused { subject, reason });
        }
        let info = DeliveryInfo {
            attempt: u32::try_from(numbers.delivered).unwrap_or(u32::MAX),
            max_attempts: self.rules.max_deliver,
            ack_wait: Some(self.rules.ack_wait),
            sequence: Some(numbers.stream_sequence),
        };
        self.forget_namesake(numbers, state);
        let claim = state.next_claim;
        state.next_claim += 1;
        state.claims.insert(claim, ack);
        let settlement = Claimed { reading: Arc::clone(self), claim };
        Ok(Delivery::new(message, info, Box::new(settlement)))
    }

    /// The subscription, to be given up.
    pub(super) fn displace(&self) -> Option<Subscriber> {
        self.state.lock().source.take()
    }

    /// Ends it for its reader, after nothing more: for a reason, or on purpose.
    pub(super) fn end(&self, error: Option<TransportError>) {
        let mut state = self.state.lock();
        state.end.get_or_insert(error);
        self.wake(state);
    }

    /// Takes a claim to settle it: each is settled once.
    pub(super) fn take(&self, claim: u64) -> Result<Subject, TransportError> {
        let mut state = self.state.lock();
        let full = state.claims.len() >= self.in_flight;
        let ack = state.claims.remove(&claim).ok_or_else(|| closed(Operation::Settle))?;
        // Else the reader waits for the server, if for anything.
        if full {
            self.wake(state);
        }
        Ok(ack)
    }

    pub(super) fn wake(&self, mut state: parking_lot::MutexGuard<'_, State>) {
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// What the server says to a question about the consumer.
enum Word {
    Here,
    Nobody,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("consumer", &self.consumer).finish_non_exhaustive()
    }
}
