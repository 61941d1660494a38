use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream;
use mesh_core::message::Message;
use mesh_core::port::{
    AppendOptions, Appended, Capability, ConsumeOptions, Deliveries, Delivery, ErrorKind,
    Operation, QueueGroup, ReceiveError, RefusalReason, Settlement, Streams, TransportError,
    Verdict,
};
use mesh_core::topology::{ConsumerRef, ConsumerRules, DeliverySubject, Retention};

use tokio::sync::oneshot;

use super::Broker;
use super::consumer::Reader;
use super::link::Link;
use super::state::State;

/// A settlement on its way.
#[derive(Debug)]
pub struct Settled {
    of: ConsumerRef,
    sequence: u64,
    token: u64,
    verdict: Verdict,
}

impl State {
    /// Does what was settled and held back.
    pub fn settle_late(&mut self) {
        let Some(Settled { of, sequence, token, verdict }) = self.late.take() else {
            return;
        };
        if self.claimed(&of, sequence, token).is_none() {
            if verdict == Verdict::Ack {
                self.ack_late(&of, sequence);
            }
            return;
        }
        match verdict {
            Verdict::Ack if self.breaks("acks nothing") => {}
            Verdict::Ack => self.forget(&of, sequence),
            Verdict::Nak { .. } if self.breaks("naks nothing") => {}
            Verdict::Nak { delay } => {
                let delay = delay.unwrap_or_default();
                let ignores = self.breaks("ignores the delay");
                self.let_go(&of, sequence, if ignores { Duration::ZERO } else { delay });
            }
            Verdict::Terminate(_) if self.breaks("terminates nothing") => {
                self.let_go(&of, sequence, Duration::ZERO);
            }
            Verdict::Terminate(reason) => {
                self.bury(&of, sequence, reason.kind().as_str(), Some(reason.as_str()));
                self.forget(&of, sequence);
            }
        }
    }
}

impl State {
    /// What a broken broker does at an acknowledgement that comes too late.
    fn ack_late(&mut self, of: &ConsumerRef, sequence: u64) {
        assert!(!self.breaks("panics at a late ack"), "it does panic");
        if self.breaks("takes a late ack for another's") {
            let consumer = self.consumers.get(of);
            let mut owed = consumer.into_iter().flat_map(|consumer| consumer.owed.keys().copied());
            if let Some(other) = owed.find(|other| *other != sequence) {
                self.forget(of, other);
            }
        }
        if self.breaks("takes a late ack for a nak") {
            self.let_go(of, sequence, Duration::ZERO);
        }
        if self.breaks("buries what is acked late") {
            self.bury(of, sequence, "max-deliver", None);
        }
    }
}

/// The other end of a delivery.
struct Claimed {
    broker: Arc<Broker>,
    of: ConsumerRef,
    sequence: u64,
    token: u64,
}

#[async_trait]
impl Settlement for Claimed {
    async fn settle(self: Box<Self>, verdict: Verdict) -> Result<(), TransportError> {
        let delayed = matches!(verdict, Verdict::Nak { delay: Some(_) });
        let allowed = self.broker.needs(Capability::DelayedNak, Operation::Settle);
        if delayed && allowed.is_err() {
            self.release();
            return allowed;
        }
        let Self { broker, of, sequence, token } = *self;
        let mut state = broker.lock();
        state.settle_late();
        state.late = Some(Settled { of, sequence, token, verdict });
        if !state.breaks("flushes no settlement") {
            state.settle_late();
        }
        Ok(())
    }

    async fn progress(&self) -> Result<(), TransportError> {
        if !self.broker.breaks("ignores progress") {
            let mut state = self.broker.lock();
            state.extend(&self.of, self.sequence, self.token);
        }
        Ok(())
    }

    fn release(self: Box<Self>) {
        let mut state = self.broker.lock();
        if state.claimed(&self.of, self.sequence, self.token).is_none() {
            return;
        }
        if state.breaks("acks what is dropped") {
            state.forget(&self.of, self.sequence);
        } else {
            state.let_go(&self.of, self.sequence, Duration::ZERO);
        }
    }
}

/// One reader of a consumer; what it holds and has not handed on goes back when it is dropped.
struct Reading {
    broker: Arc<Broker>,
    of: ConsumerRef,
    reader: Reader,
    options: ConsumeOptions,
    ended: bool,
    timer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut state = self.broker.lock();
        if state.breaks("keeps what a reader left with") {
            while state.take(&self.of, self.reader).is_some() {}
        }
        let mine = self.reader.id;
        state.readers.remove(&mine);
        let all = state.breaks("takes back what a reader handed on");
        state.release_all(|claim| claim.reader == mine && (all || !claim.handed));
    }
}

impl Reading {
    fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Delivery, ReceiveError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        loop {
            let broker = Arc::clone(&self.broker);
            let mut state = broker.lock();
            if state.closed.contains(&self.reader.connection) {
                self.ended = true;
                return Poll::Ready(None);
            }
            let silent = state.breaks("retires in silence") || state.breaks("invents consumers");
            if !state.consumers.contains_key(&self.of) && !silent {
                self.ended = true;
                let error = TransportError::new(ErrorKind::NotFound, Operation::Consume);
                return Poll::Ready(Some(Err(ReceiveError::Ended(error))));
            }
            if let Some(mut given) = state.take(&self.of, self.reader) {
                if !broker.gives(Capability::Sequences) {
                    given.info.sequence = None;
                }
                let subject = given.message.subject().clone();
                let patterns = &self.options.patterns;
                let expected = patterns.is_empty() || patterns.iter().any(|p| p.matches(&subject));
                if !expected && !state.breaks("hands on what matches no pattern") {
                    if state.breaks("acks what it refuses") {
                        state.forget(&self.of, given.sequence);
                    }
                    if let Some(claim) = state.claimed(&self.of, given.sequence, given.token) {
                        claim.handed = false;
                    }
                    let reason = RefusalReason::UnexpectedSubject;
                    return Poll::Ready(Some(Err(ReceiveError::Refused { subject, reason })));
                }
                let claimed = Claimed {
                    broker: Arc::clone(&broker),
                    of: self.of.clone(),
                    sequence: given.sequence,
                    token: given.token,
                };
                let delivery = Delivery::new(given.message, given.info, Box::new(claimed));
                return Poll::Ready(Some(Ok(delivery)));
            }
            state.wakers.push(context.waker().clone());
            let due = state.next_due().map(|due| due - state.now);
            drop(state);
            let Some(due) = due else {
                self.timer = None;
                return Poll::Pending;
            };
            let clock = Arc::clone(&broker.clock);
            let timer = self.timer.insert(Box::pin(async move { clock.sleep(due).await }));
            if timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl Link {
    fn store(&self, message: Message, options: &AppendOptions) -> Result<Appended, TransportError> {
        let mut state = self.broker.lock();
        let newest = state.streams.values().any(|store| {
            let newest = store.spec.retention == Retention::NewestPerSubject;
            newest && store.takes(message.subject())
        });
        if newest {
            self.broker.needs(Capability::NewestPerSubject, Operation::Append)?;
        }
        let appended = state.append(message, options);
        appended.map_err(|kind| TransportError::new(kind, Operation::Append))
    }

    fn read(&self, of: ConsumerRef, options: ConsumeOptions) -> Result<Deliveries, TransportError> {
        let rules = options.rules.unwrap_or(ConsumerRules::of(of.stream));
        let group = rules.shared.then(|| QueueGroup::of_consumer(&of.consumer));
        let place = DeliverySubject::of(of.clone()).to_subject().into();
        if !self.breaks("lets anybody consume") {
            self.may_subscribe(&place, group.as_ref(), Operation::Consume)?;
        }
        let mut state = self.broker.lock();
        if !state.consumers.contains_key(&of) && !state.breaks("invents consumers") {
            return Err(TransportError::new(ErrorKind::NotFound, Operation::Consume));
        }
        let (id, in_flight) = (state.id(), options.in_flight.get());
        state.readers.insert(id, of.clone());
        drop(state);
        let mut reading = Reading {
            broker: Arc::clone(&self.broker),
            of,
            reader: Reader { id, connection: self.id, in_flight, rules },
            options,
            ended: false,
            timer: None,
        };
        Ok(Deliveries::new(stream::poll_fn(move |context| reading.poll_next(context))))
    }
}

#[async_trait]
impl Streams for Link {
    async fn append(
        &self,
        message: Message,
        options: AppendOptions,
    ) -> Result<Appended, TransportError> {
        self.broker.needs(Capability::DurableConsumers, Operation::Append)?;
        self.open(Operation::Append, "appends after close")?;
        if options.expected_last.is_some() {
            self.broker.needs(Capability::Sequences, Operation::Append)?;
        }
        if options.require_deduplication {
            self.broker.needs(Capability::Deduplication, Operation::Append)?;
        }
        let message = self.checked(message, Operation::Append)?;
        let mut appended = self.store(message, &options)?;
        if self.breaks("confirms whoever comes first") {
            self.confirmed.lock().push_back(appended);
            self.under_way().await;
            appended = self.confirmed.lock().pop_front().unwrap_or(appended);
        } else {
            self.under_way().await;
        }
        appended.sequence = appended.sequence.filter(|_| self.broker.gives(Capability::Sequences));
        Ok(appended)
    }

    async fn consume(
        &self,
        of: ConsumerRef,
        options: ConsumeOptions,
    ) -> Result<Deliveries, TransportError> {
        self.broker.needs(Capability::DurableConsumers, Operation::Consume)?;
        self.open(Operation::Consume, "consumes after close")?;
        let deliveries = self.read(of, options)?;
        if !self.breaks("reads on for who gave up") {
            self.under_way().await;
            return Ok(deliveries);
        }
        let (hand_over, wanted) = oneshot::channel();
        let reading = tokio::spawn(read_on(deliveries, wanted));
        self.under_way().await;
        let _ = hand_over.send(());
        let back = reading.await.ok().flatten();
        back.ok_or_else(|| TransportError::new(ErrorKind::Closed, Operation::Consume))
    }
}

/// Reads and holds, until somebody wants the reader. Who is dropped instead wants nothing.
async fn read_on(
    mut deliveries: Deliveries,
    mut wanted: oneshot::Receiver<()>,
) -> Option<Deliveries> {
    let (mut held, mut given_up) = (Vec::new(), false);
    loop {
        tokio::select! {
            biased;
            wanted = &mut wanted, if !given_up => match wanted {
                Ok(()) => return Some(deliveries),
                Err(_) => given_up = true,
            },
            delivery = deliveries.next() => held.push(delivery?),
        }
    }
}
