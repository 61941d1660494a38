use std::task::Waker;
use std::time::Duration;

use mesh_core::subject::Subject;

use super::claim::{ClaimState, Ticket};
use super::consumer::Consumer;
use super::effects::Effects;
use super::log::Log;
use super::seat::SeatId;

/// What a reader finds.
#[derive(Debug)]
pub(super) enum Found {
    /// A message to deliver.
    Message(Ticket),
    /// One that matches none of its patterns.
    Refused(Subject),
    /// Nothing yet; it will be woken.
    Nothing,
    /// Its own seat is gone.
    Gone,
}

impl Consumer {
    /// The next message for the reader of `seat`.
    pub(super) fn next(
        &mut self,
        seat: SeatId,
        log: &Log,
        now: Duration,
        waker: &Waker,
        effects: &mut Effects,
    ) -> Found {
        if self.armed.is_some_and(|due| due <= now) {
            self.look(log, now, effects);
        }
        let others_want = self
            .readers
            .iter()
            .any(|(id, other)| *id != seat && other.wants && other.held < other.limit);
        let Some(reader) = self.readers.get_mut(&seat) else {
            return Found::Gone;
        };
        reader.waker = None;
        if others_want && self.last_served == Some(seat) && !reader.yielded {
            // Readers take turns: whoever was served last lets those who wait go first, once.
            reader.yielded = true;
            reader.wants = true;
            effects.wake.push(waker.clone());
            return Found::Nothing;
        }
        let found = if reader.held < reader.limit { self.pick(log, effects) } else { None };
        let Some(reader) = self.readers.get_mut(&seat) else {
            return Found::Gone;
        };
        let Some((sequence, message)) = found.and_then(|sequence| {
            let entry = log.entry(sequence)?;
            Some((sequence, entry.message.clone()))
        }) else {
            reader.wants = true;
            reader.waker = Some(waker.clone());
            return Found::Nothing;
        };
        reader.wants = false;
        reader.yielded = false;
        let accepted = reader.patterns.is_empty()
            || reader.patterns.iter().any(|pattern| pattern.matches(message.subject()));
        if accepted {
            reader.held += 1;
        }
        self.last_served = Some(seat);
        self.tickets += 1;
        let until = now.saturating_add(self.spec.rules.ack_wait);
        let claim = self.claims.entry(sequence).or_default();
        claim.deliveries += 1;
        claim.state = ClaimState::Held { seat, ticket: self.tickets, until, handed_on: accepted };
        let ticket = Ticket {
            instance: self.instance,
            number: self.tickets,
            sequence,
            deliveries: claim.deliveries,
            rules: self.spec.rules,
            message,
        };
        self.arm(until, effects);
        if accepted {
            Found::Message(ticket)
        } else {
            Found::Refused(ticket.message.subject().clone())
        }
    }

    /// What comes again comes first, in order; then what is new, while few enough are out.
    fn pick(&mut self, log: &Log, effects: &mut Effects) -> Option<u64> {
        while let Some(sequence) = self.ready.pop_first() {
            if log.entry(sequence).is_some() {
                return Some(sequence);
            }
            self.lose(sequence, log, effects);
        }
        if self.claims.len() >= self.spec.rules.max_ack_pending {
            return None;
        }
        while let Some(sequence) = self.backlog.pop_first() {
            if log.entry(sequence).is_some_and(|entry| self.selects(entry.message.subject())) {
                return Some(sequence);
            }
        }
        if self.cursor > log.last() {
            return None;
        }
        let found = log.from(self.cursor).find(|(_, entry)| self.selects(entry.message.subject()));
        match found {
            Some((sequence, _)) => {
                self.cursor = sequence + 1;
                Some(sequence)
            }
            None => {
                self.cursor = log.last() + 1;
                None
            }
        }
    }
}
