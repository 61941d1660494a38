use async_trait::async_trait;
use mesh_core::port::{
    Administration, Capability, ConsumerState, Drift, DriftMode, Held, Operation, Position, Stored,
    StreamState, TransportError,
};
use mesh_core::topology::{ConsumerRef, Retention, StreamName, StreamSpec, Topology};

use super::link::Link;
use super::state::State;

impl State {
    /// What of `topology` is otherwise here, put right where that is asked for.
    fn compare(&mut self, topology: &Topology, mends: impl Fn(&Drift) -> bool) -> Vec<Drift> {
        let pretends = self.breaks("says that it mended");
        let loses = self.breaks("loses what it mends");
        let mut all = Vec::new();
        let mut note = |object: String, field, expected: String, found: String| {
            let drift = Drift { object, field, expected, found, mended: false };
            let mended = drift.expected != drift.found && mends(&drift);
            if drift.expected != drift.found {
                all.push(Drift { mended, ..drift });
            }
            mended
        };
        for spec in topology.streams() {
            let Some(store) = self.streams.get_mut(&spec.name) else {
                continue;
            };
            let (wanted, found) = (spec.max_bytes.to_string(), store.spec.max_bytes.to_string());
            let mend = note(spec.name.to_string(), "max_bytes", wanted, found);
            if mend && !pretends {
                store.spec = spec.clone();
            }
        }
        for spec in topology.consumers() {
            let Some(consumer) = self.consumers.get_mut(&spec.reference) else {
                continue;
            };
            let wanted = format!("{:?}", spec.rules.max_deliver);
            let found = format!("{:?}", consumer.spec.rules.max_deliver);
            let mend = note(spec.reference.to_string(), "max_deliver", wanted, found);
            if mend && !pretends {
                consumer.spec = spec.clone();
            }
        }
        if loses && all.iter().any(|drift| drift.mended) {
            self.streams.values_mut().for_each(|store| store.messages.clear());
        }
        all
    }
}

#[async_trait]
impl Administration for Link {
    async fn assert(
        &self,
        topology: &Topology,
        mode: DriftMode,
    ) -> Result<Vec<Drift>, TransportError> {
        let mut state = self.broker.lock();
        if state.breaks("asserts from scratch") {
            state.streams.clear();
            state.consumers.clear();
        }
        if state.breaks("removes strangers") {
            let known = |of: &ConsumerRef| topology.consumer(of).is_some();
            state.consumers.retain(|of, _| known(of));
        }
        if !state.breaks("creates nothing") {
            state.create(topology);
        }
        let asked = mode == DriftMode::Mend && self.broker.gives(Capability::Mending);
        let mend = asked || state.breaks("mends what it should report");
        let mut drift = state.compare(topology, |_| mend);
        if state.breaks("overlooks drift") {
            drift.clear();
        }
        if state.breaks("reports what is the same") {
            let same = "same".to_owned();
            drift.push(Drift {
                object: "EVENTS".to_owned(),
                field: "max_age",
                expected: same.clone(),
                found: same,
                mended: false,
            });
        }
        Ok(drift)
    }

    async fn mend(
        &self,
        topology: &Topology,
        chosen: &[Drift],
    ) -> Result<Vec<Drift>, TransportError> {
        let mut state = self.broker.lock();
        let gives = self.broker.gives(Capability::Mending);
        let everything = state.breaks("mends what was not chosen");
        let by_name = state.breaks("mends what has changed since");
        let is_chosen = |drift: &Drift| {
            let named = |one: &Drift| one.object == drift.object && one.field == drift.field;
            chosen.iter().any(|one| one.is_same(drift) || (by_name && named(one)))
        };
        Ok(state.compare(topology, |drift| gives && (everything || is_chosen(drift))))
    }

    async fn list(&self) -> Result<Vec<Held>, TransportError> {
        self.broker.needs(Capability::Mending, Operation::Inspect)?;
        let state = self.broker.lock();
        let forgets = state.breaks("lists streams alone");
        let streams = state.streams.keys().copied().map(Held::Stream);
        let consumers = state.consumers.keys().cloned().map(Held::Consumer);
        Ok(streams.chain(consumers.filter(|_| !forgets)).collect())
    }

    async fn read(
        &self,
        stream: StreamName,
        position: Position,
    ) -> Result<Option<Stored>, TransportError> {
        self.broker.needs(Capability::Sequences, Operation::Read)?;
        let state = self.broker.lock();
        let Some(store) = state.streams.get(&stream) else {
            return Ok(None);
        };
        let sequence = match &position {
            Position::Sequence(sequence) if state.breaks("reads the one after") => {
                Some(sequence + 1)
            }
            Position::Sequence(sequence) => Some(*sequence),
            Position::LastOf(subject) if state.breaks("reads the first of a subject") => {
                store.of_subject(subject).next()
            }
            Position::LastOf(subject) => store.of_subject(subject).next_back(),
        };
        let found = sequence.and_then(|sequence| store.messages.get(&sequence)).cloned();
        if found.is_none() && state.breaks("reads something for nothing") {
            return Ok(store.messages.values().next().cloned());
        }
        Ok(found)
    }

    async fn inspect(&self, stream: StreamName) -> Result<Option<StreamState>, TransportError> {
        let state = self.broker.lock();
        let is_log = |spec: &StreamSpec| spec.retention != Retention::WorkQueue;
        if state.streams.get(&stream).is_some_and(|store| is_log(&store.spec)) {
            self.broker.needs(Capability::Sequences, Operation::Inspect)?;
        }
        let nothing = state.breaks("counts nothing");
        let consumers = state.consumers.keys().filter(|of| of.stream == stream).count();
        Ok(state.streams.get(&stream).map(|store| StreamState {
            messages: if nothing { 0 } else { store.messages.len() as u64 },
            bytes: Some(store.bytes()),
            max_bytes: Some(store.spec.max_bytes),
            first_sequence: Some(match state.breaks("counts from nothing") {
                true => 0,
                false => store.messages.keys().next().map_or(store.last + 1, |first| *first),
            }),
            last_sequence: Some(store.last),
            consumers: consumers as u64,
            created: (!state.breaks("is of no age")).then_some(store.created),
        }))
    }

    async fn inspect_consumer(
        &self,
        of: &ConsumerRef,
    ) -> Result<Option<ConsumerState>, TransportError> {
        let state = self.broker.lock();
        let Some((consumer, store)) = state.consumers.get(of).zip(state.streams.get(&of.stream))
        else {
            return Ok(None);
        };
        let later = store.messages.range(consumer.cursor + 1..);
        let pending = later.filter(|(_, stored)| consumer.selects(stored.message.subject()));
        let pending = pending.count() as u64;
        let in_flight =
            if state.breaks("counts no claims") { 0 } else { consumer.owed.len() as u64 };
        let read = state.readers.values().any(|other| other == of);
        let is_read = read != state.breaks("tells readers the wrong way round");
        Ok(Some(ConsumerState {
            pending,
            in_flight: Some(in_flight),
            redelivered: None,
            is_read: Some(is_read),
        }))
    }

    async fn retire(&self, of: &ConsumerRef) -> Result<bool, TransportError> {
        let mut state = self.broker.lock();
        let was_there = state.consumers.contains_key(of);
        let every = state.breaks("retires every consumer");
        let none = state.breaks("retires nobody");
        state.consumers.retain(|other, _| !every && (none || other != of));
        state.changed();
        Ok(was_there || state.breaks("retires what is absent"))
    }
}
