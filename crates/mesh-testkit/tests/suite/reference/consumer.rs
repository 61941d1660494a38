use std::collections::BTreeMap;
use std::time::Duration;

use mesh_core::message::{HeaderValue, Headers, Message, PublishId, names};
use mesh_core::port::{AppendOptions, DeliveryInfo};
use mesh_core::subject::Subject;
use mesh_core::time::Timestamp;
use mesh_core::topology::{
    ConsumerRef, ConsumerRules, ConsumerSpec, DeliverFrom, MeshSubject, Retention, StreamName,
};

use super::state::State;

/// One durable consumer.
#[derive(Debug)]
pub struct Consumer {
    pub spec: ConsumerSpec,
    /// The last sequence it has looked at.
    pub cursor: u64,
    /// What was delivered at least once and is not settled.
    pub owed: BTreeMap<u64, Owed>,
}

#[derive(Debug)]
pub struct Owed {
    attempts: u32,
    not_before: Duration,
    claim: Option<Claim>,
}

/// Who holds a delivery, and until when.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    pub token: u64,
    pub connection: u64,
    pub reader: u64,
    /// Whether it was handed on; else it was refused.
    pub handed: bool,
    expires: Duration,
}

/// A reader of a consumer.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    pub id: u64,
    pub connection: u64,
    pub in_flight: usize,
    /// What it was told of the consumer.
    pub rules: ConsumerRules,
}

/// A message given to a reader.
pub struct Given {
    pub message: Message,
    pub info: DeliveryInfo,
    pub sequence: u64,
    pub token: u64,
}

impl Consumer {
    pub fn new(spec: ConsumerSpec, last: u64) -> Self {
        let cursor = match spec.deliver_from {
            DeliverFrom::New => last,
            DeliverFrom::All | DeliverFrom::LastPerSubject => 0,
        };
        Self { spec, cursor, owed: BTreeMap::new() }
    }

    pub fn selects(&self, subject: &Subject) -> bool {
        self.spec.filters.iter().any(|filter| filter.matches(subject))
    }
}

impl State {
    /// The next message for this reader.
    pub fn take(&mut self, of: &ConsumerRef, reader: Reader) -> Option<Given> {
        let token = self.id();
        let newest = self.breaks("begins with the newest");
        let any = self.breaks("ignores the selection");
        let unbounded = self.breaks("ignores the bound");
        let overtakes = self.breaks("lets work overtake");
        let twice = self.breaks("delivers everything twice");
        let uncounted = self.breaks("counts no attempts");
        let early = self.breaks("lets claims run out early");
        let endless = self.breaks("forgets what is never settled") || !self.claims_run_out;
        let burns = self.breaks("counts an attempt for waiting");
        let silent = self.breaks("does not say how long a claim lasts");
        let strips = self.breaks("strips the prefix of a replay");
        let everyone = self.breaks("replays to everyone");
        let waits = self.breaks("waits for who holds what was replaced");
        let blocks = self.breaks("holds everything up for a delay");
        let (now, wall) = (self.now, self.wall);
        let consumer = self.consumers.get_mut(of)?;
        let store = self.streams.get(&of.stream)?;
        let held = consumer.owed.values().filter_map(|owed| owed.claim);
        if held.filter(|claim| claim.reader == reader.id).count() >= reader.in_flight && !unbounded
        {
            return None;
        }
        if blocks && consumer.owed.values().any(|owed| owed.not_before > now) {
            return None;
        }
        consumer.owed.retain(|sequence, _| waits || store.messages.contains_key(sequence));
        let mut due = consumer.owed.iter();
        let due = due.find(|(_, owed)| owed.claim.is_none() && owed.not_before <= now);
        let due = due.map(|(sequence, _)| *sequence);
        let room = consumer.owed.len() < consumer.spec.rules.max_ack_pending || overtakes;
        let new = || {
            let mut later = store.messages.range(consumer.cursor + 1..);
            let chosen = |message: &Message| {
                let replay = message.subject().as_str().starts_with("mesh.replay.");
                any || everyone && replay || consumer.selects(message.subject())
            };
            let next = later.find(|(_, stored)| chosen(&stored.message));
            let next = if newest { store.messages.last_key_value() } else { next };
            next.map(|(sequence, _)| *sequence).filter(|_| room)
        };
        let sequence = due.or_else(new)?;
        let settled = !twice || consumer.owed.contains_key(&sequence);
        if sequence > consumer.cursor && settled {
            consumer.cursor = sequence;
        }
        let expires = if early {
            now + consumer.spec.rules.ack_wait / 4
        } else if endless {
            Duration::MAX
        } else {
            now + consumer.spec.rules.ack_wait
        };
        let owed = consumer.owed.entry(sequence).or_insert(Owed {
            attempts: 0,
            not_before: now,
            claim: None,
        });
        owed.attempts += 1;
        if burns && let Some(stored) = store.messages.get(&sequence) {
            let waited = wall.as_millis().abs_diff(stored.time.as_millis());
            let claim = consumer.spec.rules.ack_wait.as_millis();
            owed.attempts += u32::try_from(u128::from(waited) / claim).unwrap();
        }
        owed.claim = Some(Claim {
            token,
            connection: reader.connection,
            reader: reader.id,
            handed: true,
            expires,
        });
        let info = DeliveryInfo {
            attempt: if uncounted { 1 } else { owed.attempts },
            max_attempts: reader.rules.max_deliver,
            ack_wait: Some(reader.rules.ack_wait).filter(|_| !silent && self.claims_run_out),
            sequence: Some(sequence),
        };
        let mut message = store.messages.get(&sequence)?.message.clone();
        if strips {
            message = without_prefix(message);
        }
        Some(Given { message, info, sequence, token })
    }

    /// The delivery that this claim is for, while the claim lasts.
    pub fn claimed(&mut self, of: &ConsumerRef, sequence: u64, token: u64) -> Option<&mut Claim> {
        let owed = self.consumers.get_mut(of)?.owed.get_mut(&sequence)?;
        owed.claim.as_mut().filter(|claim| claim.token == token)
    }

    pub fn extend(&mut self, of: &ConsumerRef, sequence: u64, token: u64) {
        let wait = self.consumers.get(of).map(|consumer| consumer.spec.rules.ack_wait);
        let expires = match self.claims_run_out {
            true => self.now + wait.unwrap_or_default(),
            false => Duration::MAX,
        };
        if let Some(claim) = self.claimed(of, sequence, token) {
            claim.expires = expires;
        }
    }

    /// Gives a delivery back, or up if that was its last try.
    pub fn let_go(&mut self, of: &ConsumerRef, sequence: u64, delay: Duration) {
        let forever = self.breaks("never gives up");
        let now = self.now;
        let Some(consumer) = self.consumers.get_mut(of) else {
            return;
        };
        let max = consumer.spec.rules.max_deliver.filter(|_| !forever);
        let Some(owed) = consumer.owed.get_mut(&sequence) else {
            return;
        };
        if max.is_some_and(|max| owed.attempts >= max) {
            self.bury(of, sequence, "max-deliver", None);
        } else {
            owed.claim = None;
            owed.not_before = now.saturating_add(delay);
        }
        self.changed();
    }

    /// Gives back each delivery whose claim is meant; answers how many.
    pub fn release_all(&mut self, meant: impl Fn(&Claim) -> bool) -> u64 {
        let mut found = Vec::new();
        for (of, consumer) in &self.consumers {
            for (sequence, owed) in &consumer.owed {
                if owed.claim.as_ref().is_some_and(&meant) {
                    found.push((of.clone(), *sequence));
                }
            }
        }
        for (of, sequence) in &found {
            self.let_go(of, *sequence, Duration::ZERO);
        }
        found.len() as u64
    }

    /// How many deliveries that connection holds.
    pub fn claims_of(&self, connection: u64) -> u64 {
        let owed = self.consumers.values().flat_map(|consumer| consumer.owed.values());
        let theirs = owed.filter(|owed| owed.claim.is_some_and(|it| it.connection == connection));
        theirs.count() as u64
    }

    /// What time alone does: claims run out.
    pub fn expire(&mut self, now: Duration, wall: Timestamp) {
        (self.now, self.wall) = (now, wall);
        self.release_all(|claim| claim.expires <= now);
    }

    /// When time alone does something next.
    pub fn next_due(&self) -> Option<Duration> {
        let owed = self.consumers.values().flat_map(|consumer| consumer.owed.values());
        let due = owed.map(|owed| owed.claim.map_or(owed.not_before, |claim| claim.expires));
        due.filter(|due| *due > self.now).min()
    }

    /// Settles a delivery for good.
    pub fn forget(&mut self, of: &ConsumerRef, sequence: u64) {
        let keeps = self.breaks("keeps settled work");
        let for_all = self.breaks("forgets what one consumer settled");
        if let Some(consumer) = self.consumers.get_mut(of) {
            consumer.owed.remove(&sequence);
        }
        if let Some(store) = self.streams.get_mut(&of.stream) {
            let work = store.spec.retention == Retention::WorkQueue;
            if work && !keeps || for_all {
                store.messages.remove(&sequence);
            }
        }
        self.changed();
    }

    /// Gives a delivery up, with a dead letter if the broker writes them.
    pub fn bury(
        &mut self,
        of: &ConsumerRef,
        sequence: u64,
        reason: &'static str,
        error: Option<&str>,
    ) {
        let store = self.streams.get(&of.stream);
        let stored = store.and_then(|store| store.messages.get(&sequence));
        let original = stored.map(|stored| stored.message.clone());
        let consumer = self.consumers.get_mut(of);
        let owed = consumer.and_then(|consumer| consumer.owed.remove(&sequence));
        let Some((original, owed)) = original.zip(owed) else {
            return;
        };
        if !self.dead_letters || of.stream != StreamName::Events || self.breaks("buries nothing") {
            return;
        }
        let subject = match self.breaks("buries a replay under its own subject") {
            true => original.subject().clone(),
            false => without_prefix(original.clone()).subject().clone(),
        };
        let mut headers = Headers::default();
        let wall = jiff::Timestamp::from_millisecond(self.wall.as_millis()).unwrap();
        let told = [
            (names::DEAD_SUBJECT, subject.to_string()),
            (names::DEAD_CONSUMER, of.consumer.to_string()),
            (names::DEAD_SEQUENCE, sequence.to_string()),
            (names::DEAD_DELIVERIES, owed.attempts.to_string()),
            (names::DEAD_REASON, reason.to_owned()),
            (names::DEAD_TIME, wall.to_string()),
        ];
        if !self.breaks("buries without its headers") {
            headers = original.headers().clone();
        }
        if !self.breaks("buries with forged headers") {
            headers.retain(|name, _| {
                let name = name.to_ascii_lowercase();
                !name.starts_with("x-dead-") && !name.starts_with("nats-")
            });
        }
        for (name, value) in told {
            headers.set(name, HeaderValue::new(value).unwrap());
        }
        if let Some(error) = error.filter(|_| !self.breaks("gives no reason")) {
            headers.set(names::DEAD_ERROR, HeaderValue::new(error.to_owned()).unwrap());
        }
        let subject = Subject::new("mesh.events.dead").unwrap();
        let letter = Message::new(subject, original.payload().clone()).with_headers(headers);
        let times = if self.breaks("buries twice") { 2 } else { 1 };
        for _ in 0..times {
            let known = self.breaks("buries once for all");
            let id = known.then(|| PublishId::new(format!("dead.{sequence}")).unwrap());
            let options = AppendOptions { id, ..AppendOptions::default() };
            self.append(letter.clone(), &options).unwrap();
        }
    }
}

/// A replay as the event that it was.
fn without_prefix(message: Message) -> Message {
    let Ok(MeshSubject::Replay { module, event, .. }) = MeshSubject::parse(message.subject())
    else {
        return message;
    };
    let mut parts = message.into_parts();
    parts.subject = MeshSubject::Event { module, event }.to_subject().unwrap();
    parts.into()
}
