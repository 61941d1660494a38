use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hashbrown::HashMap;
use mesh_core::message::Message;
use mesh_core::subject::Subject;
use mesh_core::time::Timestamp;
use mesh_core::topology::StreamSpec;

/// The messages that a stream keeps, by number.
#[derive(Debug, Default)]
pub(super) struct Log {
    entries: BTreeMap<u64, Entry>,
    subjects: HashMap<Subject, BTreeSet<u64>>,
    bytes: u64,
    last: u64,
}

/// One stored message.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) message: Message,
    pub(super) time: Timestamp,
    at: Duration,
    bytes: u64,
}

/// What a message counts against a stream's limits.
pub(super) fn size(message: &Message) -> usize {
    message.payload().len() + message.headers().wire_bytes() + message.subject().as_str().len()
}

impl Log {
    /// Keeps a message; the answer is its number.
    pub(super) fn push(&mut self, message: Message, time: Timestamp, at: Duration) -> u64 {
        self.last += 1;
        let bytes = size(&message) as u64;
        self.bytes += bytes;
        self.subjects.entry(message.subject().clone()).or_default().insert(self.last);
        let entry = Entry { message, time, at, bytes };
        self.entries.insert(self.last, entry);
        self.last
    }

    pub(super) fn remove(&mut self, sequence: u64) {
        let Some(entry) = self.entries.remove(&sequence) else {
            return;
        };
        self.bytes -= entry.bytes;
        if let Some(numbers) = self.subjects.get_mut(entry.message.subject()) {
            numbers.remove(&sequence);
            if numbers.is_empty() {
                self.subjects.remove(entry.message.subject());
            }
        }
    }

    /// Removes what is older than `max_age` by now.
    pub(super) fn age(&mut self, max_age: Option<Duration>, now: Duration) {
        let Some(max_age) = max_age else { return };
        while let Some((sequence, entry)) = self.entries.first_key_value() {
            if now.saturating_sub(entry.at) < max_age {
                break;
            }
            let sequence = *sequence;
            self.remove(sequence);
        }
    }

    /// Removes every message of a subject; the answer is which those were.
    pub(super) fn clear_subject(&mut self, subject: &Subject) -> BTreeSet<u64> {
        let numbers = self.subjects.get(subject).cloned().unwrap_or_default();
        for sequence in &numbers {
            self.remove(*sequence);
        }
        numbers
    }

    /// Whether a message of this size and subject exceeds a limit of `spec`, and which.
    pub(super) fn lacks_room(
        &self,
        spec: &StreamSpec,
        subject: &Subject,
        bytes: u64,
    ) -> Option<&'static str> {
        let of_subject = self.subjects.get(subject).map_or(0, BTreeSet::len) as u64;
        if spec.max_messages_per_subject.is_some_and(|max| of_subject >= max) {
            Some("it keeps no more messages of this subject")
        } else if self.bytes.saturating_add(bytes) > spec.max_bytes {
            Some("it keeps no more bytes")
        } else {
            None
        }
    }

    /// The bytes that the messages of a subject take.
    pub(super) fn bytes_of(&self, subject: &Subject) -> u64 {
        let numbers = self.subjects.get(subject).into_iter().flatten();
        numbers.filter_map(|number| self.entries.get(number)).map(|entry| entry.bytes).sum()
    }

    /// The number of the oldest message that is kept; one more than the last given where there is none.
    pub(super) fn first(&self) -> u64 {
        self.entries.first_key_value().map_or(self.last + 1, |(sequence, _)| *sequence)
    }

    pub(super) fn entry(&self, sequence: u64) -> Option<&Entry> {
        self.entries.get(&sequence)
    }

    /// The number of the last message of a subject that is kept.
    pub(super) fn last_of(&self, subject: &Subject) -> Option<u64> {
        self.subjects.get(subject)?.last().copied()
    }

    /// The last message of each subject.
    pub(super) fn last_of_each(&self) -> impl Iterator<Item = u64> + '_ {
        self.subjects.values().filter_map(|numbers| numbers.last().copied())
    }

    /// From this number on, in order.
    pub(super) fn from(&self, sequence: u64) -> impl Iterator<Item = (u64, &Entry)> {
        self.entries.range(sequence..).map(|(sequence, entry)| (*sequence, entry))
    }

    /// The last number given.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
