use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::task::Waker;
use std::time::Duration;

use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::permissions::{Permissions, Rules};
use mesh_core::port::{QueueGroup, ReceiveError};
use mesh_core::subject::{Filter, Subject};
use mesh_core::time::Timestamp;
use mesh_core::topology::{ConsumerRef, StreamName};

use super::consumer::Consumer;
use super::durable::Settled;
use super::store::Store;

/// Everything the broker knows.
#[derive(Debug)]
pub struct State {
    breach: Option<&'static str>,
    pub now: Duration,
    pub wall: Timestamp,
    pub dead_letters: bool,
    pub claims_run_out: bool,
    /// A settlement that a broken transport has accepted and not sent yet.
    pub late: Option<Settled>,
    next_id: u64,
    pub subscriptions: Vec<Subscriber>,
    pub streams: BTreeMap<StreamName, Store>,
    pub consumers: BTreeMap<ConsumerRef, Consumer>,
    /// What each reader reads.
    pub readers: BTreeMap<u64, ConsumerRef>,
    pub principals: BTreeMap<u64, Principal>,
    /// What each connection may do.
    pub rights: BTreeMap<u64, Permissions>,
    pub closed: BTreeSet<u64>,
    /// Whoever waits for anything.
    pub wakers: Vec<Waker>,
    /// Messages delivered so far, to take members in turn and to drop every third.
    published: usize,
}

/// One live subscription.
#[derive(Debug)]
pub struct Subscriber {
    pub id: u64,
    pub connection: u64,
    pub filter: Filter,
    pub group: Option<QueueGroup>,
    pub buffer: usize,
    pub queue: VecDeque<Queued>,
    /// Subjects of its filter that it may not hear.
    pub rules: Rules,
    /// How many messages it misses because it is not there yet.
    pub late: usize,
    pub serves: bool,
    pub ended: bool,
    /// Its right was withdrawn, which it has not been told.
    pub denied: bool,
}

#[derive(Debug)]
pub enum Queued {
    /// From which connection, and since when it waits.
    Message(Message, u64, Duration),
    Lost(u64),
    /// About the subscription.
    Word(ReceiveError),
}

impl Subscriber {
    fn is_full(&self) -> bool {
        let messages = self.queue.iter();
        let messages = messages.filter(|queued| matches!(queued, Queued::Message(..)));
        messages.count() >= self.buffer
    }
}

impl State {
    pub fn new(breach: Option<&'static str>) -> Self {
        Self {
            breach,
            now: Duration::ZERO,
            wall: Timestamp::from_millis(0),
            dead_letters: false,
            claims_run_out: false,
            late: None,
            next_id: 0,
            subscriptions: Vec::new(),
            streams: BTreeMap::new(),
            consumers: BTreeMap::new(),
            readers: BTreeMap::new(),
            principals: BTreeMap::new(),
            rights: BTreeMap::new(),
            closed: BTreeSet::new(),
            wakers: Vec::new(),
            published: 0,
        }
    }

    pub fn breaks(&self, rule: &str) -> bool {
        self.breach == Some(rule)
    }

    pub fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Wakes whoever waits for anything.
    pub fn changed(&mut self) {
        for waker in self.wakers.drain(..) {
            waker.wake();
        }
    }

    /// Tells who serves that subject there.
    pub fn tell(&mut self, connection: u64, asked: &Subject, word: ReceiveError) {
        let serves =
            |other: &&mut Subscriber| other.connection == connection && other.filter.matches(asked);
        if let Some(subscriber) = self.subscriptions.iter_mut().find(serves) {
            subscriber.queue.push_back(Queued::Word(word));
        }
        self.changed();
    }

    fn hears(&self, subscriber: &Subscriber, subject: &Subject) -> bool {
        let filter = &subscriber.filter;
        let text = filter.as_str();
        if self.breaks("hears the subjects below") {
            return subject.as_str().starts_with(text);
        }
        if self.breaks("lets a star match many")
            && let Some((before, after)) = text.split_once('*')
        {
            return subject.as_str().starts_with(before) && subject.as_str().ends_with(after);
        }
        if self.breaks("lets a tail match nothing") && text == format!("{subject}.>") {
            return true;
        }
        filter.matches(subject) && !subscriber.rules.hides(subject)
    }

    /// Hands a message to whoever listens; answers how many that is.
    pub fn deliver(&mut self, message: &Message, publisher: u64) -> usize {
        self.published += 1;
        if self.breaks("drops every third message") && self.published.is_multiple_of(3) {
            return 1;
        }
        let subject = message.subject();
        let listening: Vec<usize> = (0..self.subscriptions.len())
            .filter(|index| {
                let subscriber = &self.subscriptions[*index];
                let own = subscriber.connection == publisher;
                let deaf = own && self.breaks("hears nothing of its own");
                let ended = subscriber.ended && !self.breaks("keeps the place of the closed");
                !ended && !deaf && self.hears(subscriber, subject)
            })
            .collect();
        let mut chosen = Vec::new();
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for index in listening {
            let subscriber = &self.subscriptions[index];
            let everyone = self.breaks("delivers twice in a group")
                || subscriber.serves && self.breaks("calls every member");
            match &subscriber.group {
                Some(_) if everyone => chosen.push(index),
                None => chosen.push(index),
                Some(_) if self.breaks("takes all groups for one") => {
                    groups.entry(String::new()).or_default().push(index);
                }
                Some(group) => groups.entry(group.to_string()).or_default().push(index),
            }
        }
        chosen.extend(groups.values().map(|members| members[self.published % members.len()]));
        let full = |index: &usize| self.subscriptions[*index].is_full();
        if self.breaks("lets a slow reader hold up others") && chosen.iter().any(full) {
            return chosen.len();
        }
        for index in &chosen {
            self.push(*index, message, publisher);
        }
        self.changed();
        chosen.len()
    }

    fn push(&mut self, index: usize, message: &Message, publisher: u64) {
        let silent = self.breaks("loses without a word");
        let oldest = self.breaks("drops the oldest");
        let now = self.now;
        let subscriber = &mut self.subscriptions[index];
        if subscriber.late > 0 {
            subscriber.late -= 1;
        } else if !subscriber.is_full() {
            let queued = Queued::Message(message.clone(), publisher, now);
            subscriber.queue.push_back(queued);
        } else if oldest {
            subscriber.queue.pop_front();
            let queued = Queued::Message(message.clone(), publisher, now);
            subscriber.queue.push_back(queued);
        } else if let Some(Queued::Lost(lost)) = subscriber.queue.back_mut() {
            *lost += 1;
        } else if !silent {
            subscriber.queue.push_back(Queued::Lost(1));
        }
    }

    pub fn unsubscribe(&mut self, id: u64) {
        if !self.breaks("keeps what was dropped") {
            self.subscriptions.retain(|subscriber| subscriber.id != id);
        }
    }
}
