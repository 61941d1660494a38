use std::collections::{BTreeMap, BTreeSet};
use std::task::Waker;
use std::time::Duration;

use mesh_core::port::ConsumerState;
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{ConsumerSpec, DeliverFrom};

use super::claim::Claim;
use super::effects::Effects;
use super::log::Log;
use super::seat::SeatId;

/// A durable consumer: where it stands, what is out, and who reads it.
#[derive(Debug)]
pub(super) struct Consumer {
    pub(super) spec: ConsumerSpec,
    /// Tells it from earlier ones of its name.
    pub(super) instance: u64,
    /// The next number to look at.
    pub(super) cursor: u64,
    /// Chosen among what was there when it was created.
    pub(super) backlog: BTreeSet<u64>,
    /// What was delivered and is not settled.
    pub(super) claims: BTreeMap<u64, Claim>,
    /// Those of the claims that may be delivered again now.
    pub(super) ready: BTreeSet<u64>,
    pub(super) readers: BTreeMap<SeatId, Reader>,
    pub(super) last_served: Option<SeatId>,
    /// When it is looked at next.
    pub(super) armed: Option<Duration>,
    pub(super) tickets: u64,
}

/// A reader, as its consumer sees it.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) limit: usize,
    pub(super) patterns: Vec<Filter>,
    /// Deliveries in its owner's hands.
    pub(super) held: usize,
    pub(super) waker: Option<Waker>,
    /// It asked and got nothing.
    pub(super) wants: bool,
    /// It let others go first this time.
    pub(super) yielded: bool,
}

impl Reader {
    pub(super) fn new(limit: usize, patterns: Vec<Filter>) -> Self {
        Self { limit, patterns, held: 0, waker: None, wants: false, yielded: false }
    }
}

impl Consumer {
    pub(super) fn new(spec: ConsumerSpec, instance: u64, log: &Log) -> Self {
        let after = log.last() + 1;
        let (cursor, backlog) = match spec.deliver_from {
            DeliverFrom::All => (0, BTreeSet::new()),
            DeliverFrom::New => (after, BTreeSet::new()),
            DeliverFrom::LastPerSubject => (after, log.last_of_each().collect()),
        };
        Self {
            spec,
            instance,
            cursor,
            backlog,
            claims: BTreeMap::new(),
            ready: BTreeSet::new(),
            readers: BTreeMap::new(),
            last_served: None,
            armed: None,
            tickets: 0,
        }
    }

    pub(super) fn selects(&self, subject: &Subject) -> bool {
        self.spec.filters.iter().any(|filter| filter.matches(subject))
    }

    pub(super) fn wake(&mut self, effects: &mut Effects) {
        for reader in self.readers.values_mut() {
            effects.wake.extend(reader.waker.take());
        }
    }

    pub(super) fn arm(&mut self, until: Duration, effects: &mut Effects) {
        if self.armed.is_none_or(|armed| until < armed) {
            self.armed = Some(until);
            effects.look_at.push((until, self.spec.reference.clone()));
        }
    }

    pub(super) fn state(&self, log: &Log) -> ConsumerState {
        let selected = |sequence: &u64| {
            log.entry(*sequence).is_some_and(|entry| self.selects(entry.message.subject()))
        };
        let old = self.backlog.iter().filter(|sequence| selected(sequence));
        let new = log.from(self.cursor).filter(|(_, entry)| self.selects(entry.message.subject()));
        let again = self.claims.values().filter(|claim| claim.deliveries > 1).count();
        ConsumerState {
            pending: (old.count() + new.count()) as u64,
            in_flight: Some(self.claims.len() as u64),
            redelivered: Some(again as u64),
            is_read: Some(!self.readers.is_empty()),
        }
    }
}
