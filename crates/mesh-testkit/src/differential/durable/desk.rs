use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{Clock, Connection, Deliveries, Delivery};
use mesh_core::topology::ConsumerSpec;

use super::world::DELAY;
use crate::differential::seen::{arrived, told};
use crate::suite::scene::text;

/// A consumer, its readers and what they were given.
pub(super) struct Desk {
    pub(super) spec: ConsumerSpec,
    pub(super) of: Principal,
    pub(super) readers: Vec<Reader>,
    /// What was given and is not settled, by sequence.
    pub(super) held: BTreeMap<u64, Delivery>,
    /// Which of that was given to readers that left since.
    pub(super) kept: BTreeSet<u64>,
    /// What was given back for later, by sequence.
    pub(super) delayed: BTreeMap<u64, Delayed>,
    /// What can't be settled any more. Kept, since giving it back is no settling either.
    pub(super) stale: Vec<Delivery>,
    /// What has had its last try and whose end nobody has seen, since nobody reads.
    pub(super) limbo: BTreeSet<u64>,
    /// Of which of those the consumer was retired meanwhile.
    pub(super) unknown: BTreeSet<u64>,
    /// What was told beside deliveries, and what should not have come.
    pub(super) words: Vec<String>,
    pub(super) retired: bool,
    /// Whether both brokers let claims run out, and say when.
    claims_end: bool,
}

pub(super) struct Reader {
    pub(super) connection: Connection,
    pub(super) deliveries: Deliveries,
    /// The last that came for the first time.
    pub(super) newest: u64,
}

/// Given back for later.
pub(super) struct Delayed {
    pub(super) since: Duration,
    /// Which clock says that.
    pub(super) clock: Arc<dyn Clock>,
    /// It has come again, and is not looked at before the step that waits for it.
    pub(super) came: Option<Delivery>,
}

impl Desk {
    pub(super) fn new(spec: ConsumerSpec, of: Principal, claims_end: bool) -> Self {
        Self {
            spec,
            of,
            readers: Vec::new(),
            held: BTreeMap::new(),
            kept: BTreeSet::new(),
            delayed: BTreeMap::new(),
            stale: Vec::new(),
            limbo: BTreeSet::new(),
            unknown: BTreeSet::new(),
            words: Vec::new(),
            retired: false,
            claims_end,
        }
    }

    pub(super) fn is_read(&self) -> bool {
        !self.readers.is_empty()
    }

    /// Takes all that has come.
    pub(super) fn take(&mut self) {
        let mut readers = std::mem::take(&mut self.readers);
        readers.retain_mut(|reader| {
            for item in arrived(&mut reader.deliveries) {
                match item {
                    Some(Ok(delivery)) => self.accept(reader, delivery),
                    Some(Err(word)) => {
                        self.words.push(told(&word));
                        if word.is_terminal() {
                            return false;
                        }
                    }
                    None => {
                        self.words.push("closed".to_owned());
                        return false;
                    }
                }
            }
            true
        });
        self.readers = readers;
    }

    fn accept(&mut self, reader: &mut Reader, delivery: Delivery) {
        let info = *delivery.info();
        let sequence = info.sequence.unwrap_or(0);
        self.kept.remove(&sequence);
        if info.attempt == 1 {
            if sequence <= reader.newest {
                self.words.push(format!("{sequence} came after {}", reader.newest));
            }
            reader.newest = sequence;
        }
        if let Some(delayed) = self.delayed.get_mut(&sequence) {
            let waited = delayed.clock.monotonic().saturating_sub(delayed.since);
            if waited < DELAY {
                self.words.push(format!("{sequence} came before its delay was over"));
            }
            if delayed.came.replace(delivery).is_some() {
                self.words.push(format!("{sequence} came twice after its delay"));
            }
        } else if let Some(before) = self.held.insert(sequence, delivery) {
            self.words.push(format!("{sequence} came while it was held"));
            self.stale.push(before);
        }
    }

    /// Notes that a delivery goes back.
    pub(super) fn goes_back(&mut self, sequence: u64, delivery: &Delivery) {
        if delivery.is_last_attempt() && !self.is_read() {
            self.limbo.insert(sequence);
        }
    }

    /// A newer message has taken the place of all that was given: it is settled for all that anybody
    /// can see.
    pub(super) fn replaced(&mut self) {
        self.stale.extend(std::mem::take(&mut self.held).into_values());
        let delayed = std::mem::take(&mut self.delayed);
        self.stale.extend(delayed.into_values().filter_map(|delayed| delayed.came));
    }

    /// What is due to come, where the broker owes so many.
    pub(super) fn waits_for(&self, owes: u64) -> Option<String> {
        if !self.is_read() {
            return None;
        }
        let most = self.spec.rules.max_ack_pending;
        let due = owes.min(most as u64);
        let has = (self.held.len() + self.delayed.len()) as u64;
        if due == has {
            return None;
        }
        Some(format!(
            "{} owes {owes}, at most {most} at a time; given are {:?}, put back for later {:?}",
            self.spec.reference,
            self.held.keys().collect::<Vec<_>>(),
            self.delayed.keys().collect::<Vec<_>>(),
        ))
    }

    /// Whether a reader that left has something still.
    pub(super) fn is_kept(&self) -> bool {
        self.held.keys().any(|sequence| self.kept.contains(sequence))
    }

    pub(super) fn given(&self) -> Vec<String> {
        self.held.values().map(|delivery| self.describe(delivery)).collect()
    }

    /// All that is promised of a delivery.
    pub(super) fn describe(&self, delivery: &Delivery) -> String {
        let info = delivery.info();
        let sequence = info.sequence.unwrap_or(0);
        let (of, claim) = (info.max_attempts, info.ack_wait.filter(|_| self.claims_end));
        let message = whole(delivery.message());
        format!("{sequence} try {} of {of:?}, {claim:?}: {message}", info.attempt)
    }
}

/// A message as it is kept or heard, without what the broker adds.
pub(super) fn whole(message: &Message) -> String {
    let own = |(name, _): &(&str, &str)| !name.to_ascii_lowercase().starts_with("nats-");
    let mut headers: Vec<_> = message.headers().iter().filter(own).collect();
    headers.sort_unstable();
    let reply = message.reply().map_or("", |reply| reply.as_str());
    format!("{} {:?} {headers:?} {reply}", message.subject(), text(message))
}
