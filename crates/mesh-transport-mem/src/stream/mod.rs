//! What is kept: streams, and the durable consumers that read them.

mod claim;
mod consumer;
mod drift;
mod effects;
mod known;
mod log;
mod next;
mod reading;
mod seat;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

use mesh_core::message::{Message, PublishId};
use mesh_core::name::ConsumerName;
use mesh_core::port::{
    Appended, ConsumerState, ErrorKind, Operation, Position, Stored, StreamState, TransportError,
    Verdict,
};
use mesh_core::subject::{Filter, Subject};
use mesh_core::time::Timestamp;
use mesh_core::topology::{Retention, StreamName, StreamSpec};
use parking_lot::{Mutex, RwLock};

pub(crate) use claim::Ticket;
pub(crate) use drift::{Plan, assert, check};
pub(crate) use effects::{Burial, Effects};
pub(crate) use reading::Reading;
pub(crate) use seat::{Seat, SeatId};

use consumer::{Consumer, Reader};
use known::Known;
use log::{Log, size};
use next::Found;
use settle::Settled;

/// One stream. A lock of its own guards it; nothing waits while it is held.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) name: StreamName,
    subjects: RwLock<Vec<Filter>>,
    created: Timestamp,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    spec: StreamSpec,
    log: Log,
    known: Known,
    consumers: BTreeMap<ConsumerName, Consumer>,
    /// How many consumers there ever were.
    created: u64,
}

/// How a message is appended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Append<'a> {
    pub(crate) id: Option<&'a PublishId>,
    pub(crate) expected_last: Option<u64>,
    pub(crate) operation: Operation,
}

impl Append<'_> {
    /// As a plain publish is kept.
    pub(crate) fn plain() -> Self {
        Self { id: None, expected_last: None, operation: Operation::Publish }
    }

    fn error(&self, kind: ErrorKind, message: &Message) -> TransportError {
        TransportError::new(kind, self.operation).about(message.subject())
    }
}

impl Stream {
    pub(crate) fn new(spec: StreamSpec, created: Timestamp) -> Self {
        Self {
            name: spec.name,
            subjects: RwLock::new(spec.subjects.clone()),
            created,
            inner: Mutex::new(Inner {
                spec,
                log: Log::default(),
                known: Known::default(),
                consumers: BTreeMap::new(),
                created: 0,
            }),
        }
    }

    /// Whether messages of this subject are kept here.
    pub(crate) fn takes(&self, subject: &Subject) -> bool {
        self.subjects.read().iter().any(|filter| filter.matches(subject))
    }

    pub(crate) fn append(
        &self,
        message: &Message,
        append: Append<'_>,
        time: Timestamp,
        now: Duration,
    ) -> Result<(Appended, Effects), TransportError> {
        let mut inner = self.inner.lock();
        inner.age(now);
        let Inner { spec, log, known, consumers, .. } = &mut *inner;
        let appended = |sequence, duplicate| Appended {
            stream: spec.name,
            sequence: Some(sequence),
            duplicate,
        };
        let subject = message.subject();
        let newest_only = spec.retention == Retention::NewestPerSubject;
        if newest_only && append.operation == Operation::Publish {
            return Err(append
                .error(ErrorKind::Invalid, message)
                .detail("its stream takes appends only"));
        }
        if let Some(sequence) = append.id.and_then(|id| known.number(id)) {
            return Ok((appended(sequence, true), Effects::default()));
        }
        let found = log.last_of(subject).unwrap_or(0);
        if let Some(expected) = append.expected_last
            && expected != found
        {
            return Err(append
                .error(ErrorKind::Conflict, message)
                .detail(format!("expected {expected}, found {found}")));
        }
        let bytes = size(message);
        if let Some(max) = spec.max_message_bytes
            && bytes > max
        {
            return Err(append
                .error(ErrorKind::TooLarge, message)
                .detail(format!("{bytes} bytes with headers, at most {max} are kept")));
        }
        let bytes = bytes as u64;
        let lacking = if newest_only {
            let others = log.bytes() - log.bytes_of(subject);
            (others + bytes > spec.max_bytes).then_some("it keeps no more bytes")
        } else {
            log.lacks_room(spec, subject, bytes)
        };
        if let Some(limit) = lacking {
            return Err(append
                .error(ErrorKind::Full, message)
                .detail(format!("{}: {limit}", spec.name)));
        }
        let mut effects = Effects::default();
        if newest_only {
            for replaced in log.clear_subject(subject) {
                for consumer in consumers.values_mut() {
                    consumer.lose(replaced, log, &mut effects);
                }
            }
        }
        let sequence = log.push(without_reply(message), time, now);
        if let Some(id) = append.id {
            known.note(id, sequence, now);
        }
        for consumer in consumers.values_mut() {
            if !consumer.readers.is_empty() && consumer.selects(subject) {
                consumer.wake(&mut effects);
            }
        }
        Ok((appended(sequence, false), effects))
    }

    pub(crate) fn read(&self, position: &Position, now: Duration) -> Option<Stored> {
        let mut inner = self.inner.lock();
        inner.age(now);
        let sequence = match position {
            Position::Sequence(sequence) => *sequence,
            Position::LastOf(subject) => inner.log.last_of(subject)?,
        };
        let entry = inner.log.entry(sequence)?;
        Some(Stored { sequence, time: entry.time, message: entry.message.clone() })
    }

    pub(crate) fn state(&self, now: Duration) -> StreamState {
        let mut inner = self.inner.lock();
        inner.age(now);
        StreamState {
            messages: inner.log.len(),
            bytes: Some(inner.log.bytes()),
            max_bytes: Some(inner.spec.max_bytes),
            first_sequence: Some(inner.log.first()),
            last_sequence: Some(inner.log.last()),
            consumers: inner.consumers.len() as u64,
            created: Some(self.created),
        }
    }

    /// The names of its consumers.
    pub(crate) fn consumers(&self) -> Vec<ConsumerName> {
        self.inner.lock().consumers.keys().cloned().collect()
    }

    pub(crate) fn consumer_state(
        &self,
        consumer: &ConsumerName,
        now: Duration,
    ) -> Option<ConsumerState> {
        let mut inner = self.inner.lock();
        inner.age(now);
        let consumer = inner.consumers.get(consumer)?;
        Some(consumer.state(&inner.log))
    }

    /// Whether its readers share, where the consumer is there.
    pub(crate) fn is_shared(&self, consumer: &ConsumerName) -> Option<bool> {
        let inner = self.inner.lock();
        Some(inner.consumers.get(consumer)?.spec.rules.shared)
    }

    /// Seats a reader.
    pub(crate) fn join(
        &self,
        seat: &Seat,
        limit: usize,
        patterns: Vec<Filter>,
    ) -> Result<(), TransportError> {
        let refused =
            |kind| TransportError::new(kind, Operation::Consume).about(seat.consumer.to_string());
        let mut inner = self.inner.lock();
        let Some(consumer) = inner.consumers.get_mut(&seat.consumer.consumer) else {
            return Err(refused(ErrorKind::NotFound));
        };
        if !consumer.spec.rules.shared && !consumer.readers.is_empty() {
            return Err(refused(ErrorKind::Broker).detail("it has a reader, and takes one only"));
        }
        let reader = Reader::new(limit, patterns);
        consumer.readers.insert(seat.id, reader);
        Ok(())
    }

    fn next(&self, seat: &Seat, now: Duration, waker: &Waker) -> (Found, Effects) {
        let mut effects = Effects::default();
        let mut inner = self.inner.lock();
        inner.age(now);
        let Inner { log, consumers, .. } = &mut *inner;
        let found = match consumers.get_mut(&seat.consumer.consumer) {
            Some(consumer) => consumer.next(seat.id, log, now, waker, &mut effects),
            None => Found::Gone,
        };
        (found, effects)
    }

    /// Settles a delivery, which then is out of its reader's hands.
    fn settle(&self, seat: &Seat, ticket: &Ticket, verdict: Verdict, now: Duration) -> Effects {
        self.change(seat, |consumer, log, effects| {
            let settled = consumer.settle(ticket, verdict, log, now, effects);
            consumer.let_go(seat.id, effects);
            (settled == Settled::Now).then_some(ticket.sequence)
        })
    }

    fn progress(&self, seat: &Seat, ticket: &Ticket, now: Duration) -> Effects {
        self.change(seat, |consumer, _, _| {
            consumer.progress(ticket, now);
            None
        })
    }

    /// Removes a reader that was dropped; the answer is whether somebody holds what came there.
    pub(crate) fn stand_up(&self, seat: &Seat) -> (bool, Effects) {
        let mut holds = false;
        let effects = self.change(seat, |consumer, log, effects| {
            holds = consumer.stand_up(seat.id, log, effects);
            None
        });
        (holds, effects)
    }

    /// Whether somebody holds what came to that reader.
    pub(crate) fn holds(&self, seat: &Seat) -> bool {
        let inner = self.inner.lock();
        let consumer = inner.consumers.get(&seat.consumer.consumer);
        consumer.is_some_and(|consumer| consumer.holds(seat.id))
    }

    /// Removes a reader whose connection is over; the answer is how many deliveries went back.
    pub(crate) fn leave(&self, seat: &Seat) -> (u64, Effects) {
        let mut released = 0;
        let effects = self.change(seat, |consumer, log, effects| {
            released = consumer.leave(seat.id, log, effects);
            None
        });
        (released, effects)
    }

    /// Looks what is due at a consumer.
    pub(crate) fn look(&self, consumer: &ConsumerName, now: Duration) -> Effects {
        self.change_consumer(consumer, |consumer, log, effects| {
            consumer.look(log, now, effects);
            None
        })
    }

    /// What became of a burial. A consumer that was made again since then has nothing to do with it.
    pub(crate) fn buried(
        &self,
        consumer: &ConsumerName,
        instance: u64,
        sequence: u64,
        done: bool,
        now: Duration,
    ) -> Effects {
        self.change_consumer(consumer, |consumer, _, effects| {
            if consumer.instance != instance {
                return None;
            }
            consumer.buried(sequence, done, now, effects);
            done.then_some(sequence)
        })
    }

    /// Removes a consumer; the answer is whether it was there.
    pub(crate) fn retire(&self, consumer: &ConsumerName) -> (bool, Effects) {
        let mut effects = Effects::default();
        let mut inner = self.inner.lock();
        let Some(mut consumer) = inner.consumers.remove(consumer) else {
            return (false, effects);
        };
        consumer.wake(&mut effects);
        (true, effects)
    }

    fn change(
        &self,
        seat: &Seat,
        change: impl FnOnce(&mut Consumer, &Log, &mut Effects) -> Option<u64>,
    ) -> Effects {
        self.change_consumer(&seat.consumer.consumer, change)
    }

    /// Changes a consumer, if it is still there; a work queue lets go of the message that `change`
    /// names.
    fn change_consumer(
        &self,
        consumer: &ConsumerName,
        change: impl FnOnce(&mut Consumer, &Log, &mut Effects) -> Option<u64>,
    ) -> Effects {
        let mut effects = Effects::default();
        let mut inner = self.inner.lock();
        let Inner { spec, log, consumers, .. } = &mut *inner;
        if let Some(consumer) = consumers.get_mut(consumer)
            && let Some(settled) = change(consumer, log, &mut effects)
            && spec.retention == Retention::WorkQueue
        {
            log.remove(settled);
        }
        effects
    }
}

impl Inner {
    /// Lets go what is too old.
    fn age(&mut self, now: Duration) {
        self.log.age(self.spec.max_age, now);
        self.known.age(self.spec.deduplication_window, now);
    }
}

/// A reply address is the publisher's and the broker's affair; it is not kept.
fn without_reply(message: &Message) -> Message {
    if message.reply().is_none() {
        return message.clone();
    }
    let mut parts = message.clone().into_parts();
    parts.reply = None;
    parts.into()
}
