use std::collections::BTreeMap;
use std::time::Duration;

use mesh_core::message::{Headers, Message};
use mesh_core::port::{AppendOptions, Appended, ErrorKind, Stored};
use mesh_core::subject::Subject;
use mesh_core::time::Timestamp;
use mesh_core::topology::{Retention, StreamName, StreamSpec, Topology};

use super::consumer::Consumer;
use super::state::State;

/// One stream.
#[derive(Debug)]
pub struct Store {
    pub spec: StreamSpec,
    pub messages: BTreeMap<u64, Stored>,
    pub last: u64,
    pub created: Timestamp,
    /// Sequence and time of each id.
    ids: BTreeMap<String, (u64, Duration)>,
}

fn size(message: &Message) -> u64 {
    let bytes = message.payload().len() + message.headers().wire_bytes();
    (bytes + message.subject().as_str().len()) as u64
}

impl Store {
    pub fn new(spec: StreamSpec, created: Timestamp) -> Self {
        Self { spec, messages: BTreeMap::new(), last: 0, created, ids: BTreeMap::new() }
    }

    pub fn takes(&self, subject: &Subject) -> bool {
        self.spec.subjects.iter().any(|filter| filter.matches(subject))
    }

    pub fn bytes(&self) -> u64 {
        self.messages.values().map(|stored| size(&stored.message)).sum()
    }

    pub fn of_subject(&self, subject: &Subject) -> impl DoubleEndedIterator<Item = u64> {
        let all = self.messages.iter();
        let same = all.filter(move |(_, stored)| stored.message.subject() == subject);
        same.map(|(sequence, _)| *sequence)
    }

    fn is_full(&self, message: &Message, ignores: Ignores) -> bool {
        let share = self.spec.max_messages_per_subject;
        let share =
            share.is_some_and(|max| self.of_subject(message.subject()).count() as u64 >= max);
        let bytes = self.bytes() + size(message) > self.spec.max_bytes;
        share && !ignores.shares || bytes && !ignores.bytes
    }
}

/// Which limits a broken broker ignores.
#[derive(Clone, Copy)]
struct Ignores {
    shares: bool,
    bytes: bool,
}

impl State {
    /// Makes the streams and consumers that are not there.
    pub fn create(&mut self, topology: &Topology) {
        for spec in topology.streams() {
            let missing = Store::new(spec.clone(), self.wall);
            self.streams.entry(spec.name).or_insert(missing);
        }
        for spec in topology.consumers() {
            if let Some(store) = self.streams.get(&spec.reference.stream) {
                let missing = Consumer::new(spec.clone(), store.last);
                self.consumers.entry(spec.reference.clone()).or_insert(missing);
            }
        }
    }

    pub fn append(
        &mut self,
        message: Message,
        options: &AppendOptions,
    ) -> Result<Appended, ErrorKind> {
        let found = self.streams.values().find(|store| store.takes(message.subject()));
        let Some(name) = found.map(|store| store.spec.name) else {
            if self.breaks("swallows what no stream takes") {
                return Ok(appended(StreamName::Events, 0, false));
            }
            return Err(ErrorKind::NotFound);
        };
        if let Some(sequence) = self.known(name, options) {
            if self.breaks("remembers an id anew at each repeat") {
                self.remember(name, options, sequence);
            }
            let shown = if self.breaks("names a new sequence for a repeat") {
                sequence + 1
            } else {
                sequence
            };
            return Ok(appended(name, shown, true));
        }
        let last = self.last_expected(name, message.subject());
        let expects = options.expected_last.is_some_and(|expected| expected != last);
        if expects && !self.breaks("expects nothing") {
            return Err(ErrorKind::Conflict);
        }
        self.make_room(name, &message)?;
        Ok(self.store(name, message, options))
    }

    /// The sequence of an append of this id, if it was seen lately.
    fn known(&self, name: StreamName, options: &AppendOptions) -> Option<u64> {
        if self.breaks("stores a repeat") {
            return None;
        }
        let id = options.id.as_ref()?.as_str();
        let early = self.breaks("forgets ids early");
        let ever = self.breaks("remembers ids for ever");
        let everywhere = self.breaks("knows the ids of other streams");
        let stores = self.streams.values();
        let known = stores.filter(|store| store.spec.name == name || everywhere);
        let mut known = known.filter_map(|store| {
            let (sequence, time) = store.ids.get(id)?;
            let window = store.spec.deduplication_window;
            let window = if early { window / 4 } else { window };
            let lately = *time + window > self.now;
            (lately || ever).then_some(*sequence)
        });
        known.next()
    }

    fn remember(&mut self, name: StreamName, options: &AppendOptions, sequence: u64) {
        let now = self.now;
        if let Some((store, id)) = self.streams.get_mut(&name).zip(options.id.as_ref()) {
            store.ids.insert(id.to_string(), (sequence, now));
        }
    }

    fn last_expected(&self, name: StreamName, subject: &Subject) -> u64 {
        let store = &self.streams[&name];
        if self.breaks("expects the last of the stream") {
            return store.last;
        }
        store.of_subject(subject).next_back().unwrap_or(0)
    }

    fn make_room(&mut self, name: StreamName, message: &Message) -> Result<(), ErrorKind> {
        let ignores = Ignores {
            shares: self.breaks("ignores a subject's share"),
            bytes: self.breaks("takes more than fits"),
        };
        let keeps_old = self.breaks("keeps every declaration");
        let drops_old = self.breaks("drops the oldest when full");
        let Some(store) = self.streams.get_mut(&name) else {
            return Err(ErrorKind::NotFound);
        };
        let too_large = |max: usize| size(message) > max as u64;
        if store.spec.max_message_bytes.is_some_and(too_large) {
            return Err(ErrorKind::TooLarge);
        }
        if store.spec.retention == Retention::NewestPerSubject {
            let old: Vec<_> = store.of_subject(message.subject()).collect();
            store.messages.retain(|sequence, _| keeps_old || !old.contains(sequence));
            return Ok(());
        }
        while store.is_full(message, ignores) {
            if !drops_old {
                return Err(ErrorKind::Full);
            }
            store.messages.pop_first();
        }
        Ok(())
    }

    fn store(&mut self, name: StreamName, message: Message, options: &AppendOptions) -> Appended {
        let over_all = self.breaks("counts over all streams");
        let total = self.streams.values().map(|store| store.last).sum::<u64>() + 1;
        let forgets = self.breaks("forgets an append");
        let message = if self.breaks("stores no headers") {
            message.with_headers(Headers::default())
        } else {
            message
        };
        let silent = self.breaks("appends in silence");
        let wall = self.wall;
        if !silent {
            let waiting = || Subject::new("_INBOX.shop.n1.ack.1").unwrap();
            let shown = self.breaks("shows where it waits for the broker");
            let shown = shown.then(|| message.clone().with_reply(waiting()));
            self.deliver(shown.as_ref().unwrap_or(&message), 0);
        }
        let Some(store) = self.streams.get_mut(&name) else {
            return appended(name, 0, false);
        };
        let sequence = if over_all { total } else { store.last + 1 };
        store.last = sequence;
        let stored = Stored { sequence, time: wall, message };
        if !(forgets && sequence == 1) {
            store.messages.insert(sequence, stored);
        }
        self.remember(name, options, sequence);
        self.changed();
        appended(name, sequence, false)
    }
}

fn appended(stream: StreamName, sequence: u64, duplicate: bool) -> Appended {
    Appended { stream, sequence: Some(sequence), duplicate }
}
