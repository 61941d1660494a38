use std::collections::BTreeMap;
use std::time::Duration;

use mesh_core::subject::Subject;
use mesh_core::topology::{ConsumerSpec, Retention, StreamName};

use super::consumer::{Consumer, Fate};
use super::world::{WINDOW, consumers, topology};

/// The whole model: what a durable broker must know, and nothing of how.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) now: Duration,
    streams: BTreeMap<StreamName, Stream>,
    /// By index; none once it is retired.
    pub(super) consumers: Vec<Option<Consumer>>,
    /// The dead letters, in order: body, consumer, tries, reason.
    pub(super) dead: Vec<DeadLetter>,
}

#[derive(Debug, Default)]
struct Stream {
    work: bool,
    last: u64,
    messages: BTreeMap<u64, (Subject, String)>,
    ids: BTreeMap<u8, (u64, Duration)>,
}

/// A dead letter as the model expects it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DeadLetter {
    pub(super) body: String,
    pub(super) consumer: String,
    pub(super) deliveries: String,
    pub(super) reason: &'static str,
}

impl Model {
    pub(super) fn new() -> Self {
        let topology = topology();
        let streams = topology.streams().iter().map(|spec| {
            let stream =
                Stream { work: spec.retention == Retention::WorkQueue, ..Stream::default() };
            (spec.name, stream)
        });
        Self {
            now: Duration::ZERO,
            streams: streams.collect(),
            consumers: consumers().map(Consumer::new).map(Some).into(),
            dead: Vec::new(),
        }
    }

    /// Appends; answers the sequence and whether the id was known.
    pub(super) fn append(
        &mut self,
        name: StreamName,
        subject: &Subject,
        body: &str,
        id: Option<u8>,
    ) -> (u64, bool) {
        let now = self.now;
        let stream = self.streams.entry(name).or_default();
        let known = id.and_then(|id| stream.ids.get(&id));
        if let Some((sequence, _)) = known.filter(|(_, time)| now < *time + WINDOW) {
            return (*sequence, true);
        }
        stream.last += 1;
        let message = (subject.clone(), body.to_owned());
        stream.messages.insert(stream.last, message);
        if let Some(id) = id {
            stream.ids.insert(id, (stream.last, now));
        }
        (stream.last, false)
    }

    /// What that stream keeps.
    pub(super) fn stored(&self, name: StreamName) -> u64 {
        let stream = self.streams.get(&name);
        stream.map_or(0, |stream| stream.messages.len() as u64)
    }

    /// The subject and body of a message.
    pub(super) fn message(&self, name: StreamName, sequence: u64) -> Option<&(Subject, String)> {
        self.streams.get(&name)?.messages.get(&sequence)
    }

    /// The sequences that a consumer selects among what is kept.
    fn selected(&self, spec: &ConsumerSpec) -> Vec<u64> {
        let Some(stream) = self.streams.get(&spec.reference.stream) else {
            return Vec::new();
        };
        let selects = |subject: &Subject| spec.filters.iter().any(|filter| filter.matches(subject));
        let chosen = stream.messages.iter();
        let chosen = chosen.filter(|(_, (subject, _))| selects(subject));
        chosen.map(|(sequence, _)| *sequence).collect()
    }

    /// What that consumer may be given now; nothing if it is retired.
    pub(super) fn admits(&self, consumer: usize) -> Vec<(u64, u32)> {
        let found = self.consumers.get(consumer).and_then(Option::as_ref);
        found.map_or_else(Vec::new, |found| found.admits(&self.selected(&found.spec), self.now))
    }

    pub(super) fn owes(&self, consumer: usize) -> Option<u64> {
        let found = self.consumers.get(consumer)?.as_ref()?;
        Some(found.owes(&self.selected(&found.spec)))
    }

    /// What the consumer does, if it is still there.
    pub(super) fn consumer(&mut self, consumer: usize) -> Option<&mut Consumer> {
        self.consumers.get_mut(consumer)?.as_mut()
    }

    /// Settles a delivery for good; answers its tries.
    pub(super) fn settle(&mut self, consumer: usize, sequence: u64) -> u32 {
        let Some(found) = self.consumer(consumer) else {
            return 0;
        };
        let tries = found.settle(sequence);
        let name = found.spec.reference.stream;
        if let Some(stream) = self.streams.get_mut(&name).filter(|stream| stream.work) {
            stream.messages.remove(&sequence);
        }
        tries
    }

    pub(super) fn terminate(&mut self, consumer: usize, sequence: u64) {
        let letter = self.letter(consumer, sequence, "terminated");
        let tries = self.settle(consumer, sequence);
        self.bury(letter, tries);
    }

    /// Gives a delivery back, not to come again before `delay` has passed.
    pub(super) fn give_back(&mut self, consumer: usize, sequence: u64, delay: Duration) {
        let letter = self.letter(consumer, sequence, "max-deliver");
        let from = self.now + delay;
        let fate = self.consumer(consumer).map(|found| found.give_back(sequence, from));
        if let Some(Fate::GivenUp(tries)) = fate {
            self.bury(letter, tries);
        }
    }

    /// Only events have dead letters.
    fn letter(&self, consumer: usize, sequence: u64, reason: &'static str) -> Option<DeadLetter> {
        let spec = &self.consumers.get(consumer)?.as_ref()?.spec;
        let name = spec.reference.stream;
        let (_, body) = self.message(name, sequence)?;
        (name == StreamName::Events).then(|| DeadLetter {
            body: body.clone(),
            consumer: spec.reference.consumer.to_string(),
            deliveries: String::new(),
            reason,
        })
    }

    fn bury(&mut self, letter: Option<DeadLetter>, tries: u32) {
        self.dead
            .extend(letter.map(|letter| DeadLetter { deliveries: tries.to_string(), ..letter }));
    }

    /// When time alone changes something.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let consumers = self.consumers.iter().flatten();
        consumers.filter_map(|consumer| consumer.next_due(self.now)).min()
    }

    /// Moves to `now`; answers whose claims ran out, as consumer and sequence.
    pub(super) fn move_to(&mut self, now: Duration) -> Vec<(usize, u64)> {
        self.now = now;
        let mut expired = Vec::new();
        for (index, consumer) in self.consumers.iter().enumerate() {
            let of = consumer.iter().flat_map(|consumer| consumer.expired(now));
            expired.extend(of.map(|sequence| (index, sequence)));
        }
        for (consumer, sequence) in &expired {
            self.give_back(*consumer, *sequence, Duration::ZERO);
        }
        expired
    }
}
