use std::fmt;
use std::sync::Arc;

use mesh_core::port::{Drift, DriftMode, ErrorKind, Operation, TransportError};
use mesh_core::subject::Filter;
use mesh_core::topology::{ConsumerSpec, Retention, StreamSpec, Topology};

use super::{Consumer, Effects, Inner, Stream};

/// Refuses a topology that a server would refuse, before anything is changed.
pub(crate) fn check(topology: &Topology, existing: &[Arc<Stream>]) -> Result<(), TransportError> {
    let refused = |kind, object: &dyn fmt::Display, detail: &'static str| {
        Err(TransportError::new(kind, Operation::Assert).about(object.to_string()).detail(detail))
    };
    let mut taken: Vec<(_, Filter)> = Vec::new();
    for stream in existing {
        if topology.stream(stream.name).is_none() {
            let subjects = stream.subjects.read();
            taken.extend(subjects.iter().map(|filter| (stream.name, filter.clone())));
        }
    }
    for stream in topology.streams() {
        for filter in &stream.subjects {
            if taken.iter().any(|(_, other)| other.overlaps(filter)) {
                return refused(ErrorKind::Invalid, &stream.name, "its subjects overlap another's");
            }
        }
        let own = stream.subjects.iter();
        taken.extend(own.map(|filter| (stream.name, filter.clone())));
    }
    for consumer in topology.consumers() {
        let ConsumerSpec { reference, filters, .. } = consumer;
        let known = existing.iter().any(|stream| stream.name == reference.stream);
        if !known && topology.stream(reference.stream).is_none() {
            return refused(ErrorKind::NotFound, reference, "its stream is not there");
        }
        let nested = filters.iter().enumerate().any(|(index, filter)| {
            let others = filters.iter().enumerate();
            others.filter(|(other, _)| *other != index).any(|(_, other)| other.contains(filter))
        });
        if filters.is_empty() || nested {
            return refused(
                ErrorKind::Invalid,
                reference,
                "its filters are none, or one is inside another",
            );
        }
    }
    for stream in topology.streams() {
        let mut names: Vec<_> = topology
            .consumers()
            .iter()
            .filter(|consumer| consumer.reference.stream == stream.name)
            .map(|consumer| consumer.reference.consumer.clone())
            .collect();
        if let Some(existing) = existing.iter().find(|known| known.name == stream.name) {
            names.extend(existing.inner.lock().consumers.keys().cloned());
        }
        names.sort();
        names.dedup();
        if names.len() > stream.max_consumers as usize {
            return refused(ErrorKind::Invalid, &stream.name, "it takes no more consumers");
        }
        if stream.retention == Retention::WorkQueue && names.len() > 1 {
            return refused(ErrorKind::Invalid, &stream.name, "a work queue has one consumer");
        }
    }
    Ok(())
}

/// What is done about what is missing and what differs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Plan<'a> {
    Assert(DriftMode),
    /// Nothing is made; these are put right.
    Mend(&'a [Drift]),
}

impl Plan<'_> {
    fn mends(self, drift: &Drift) -> bool {
        match self {
            Self::Assert(mode) => mode == DriftMode::Mend,
            Self::Mend(chosen) => chosen.iter().any(|chosen| chosen.is_same(drift)),
        }
    }
}

/// Makes `stream` and its consumers what `topology` says.
pub(crate) fn assert(
    stream: &Stream,
    topology: &Topology,
    plan: Plan<'_>,
) -> (Vec<Drift>, Effects) {
    let mut differences = Differences { plan, object: stream.name.to_string(), found: Vec::new() };
    let mut effects = Effects::default();
    let mut inner = stream.inner.lock();
    let Inner { spec, log, consumers, created, .. } = &mut *inner;
    if let Some(wanted) = topology.stream(stream.name) {
        differences.stream(spec, wanted);
        *stream.subjects.write() = spec.subjects.clone();
    }
    for wanted in topology.consumers() {
        if wanted.reference.stream != stream.name {
            continue;
        }
        differences.object = wanted.reference.to_string();
        match consumers.get_mut(&wanted.reference.consumer) {
            Some(consumer) => {
                differences.consumer(&mut consumer.spec, wanted);
                consumer.wake(&mut effects);
            }
            None if matches!(plan, Plan::Mend(_)) => {}
            None => {
                *created += 1;
                let consumer = Consumer::new(wanted.clone(), *created, log);
                consumers.insert(wanted.reference.consumer.clone(), consumer);
            }
        }
    }
    (differences.found, effects)
}

struct Differences<'a> {
    plan: Plan<'a>,
    object: String,
    found: Vec<Drift>,
}

impl Differences<'_> {
    fn stream(&mut self, is: &mut StreamSpec, wanted: &StreamSpec) {
        self.field("subjects", &mut is.subjects, &wanted.subjects);
        self.fixed("retention", &is.retention, &wanted.retention);
        self.field("max_age", &mut is.max_age, &wanted.max_age);
        self.field("max_bytes", &mut is.max_bytes, &wanted.max_bytes);
        self.field(
            "max_messages_per_subject",
            &mut is.max_messages_per_subject,
            &wanted.max_messages_per_subject,
        );
        self.field("max_message_bytes", &mut is.max_message_bytes, &wanted.max_message_bytes);
        self.field("max_consumers", &mut is.max_consumers, &wanted.max_consumers);
        self.field(
            "deduplication_window",
            &mut is.deduplication_window,
            &wanted.deduplication_window,
        );
    }

    fn consumer(&mut self, is: &mut ConsumerSpec, wanted: &ConsumerSpec) {
        self.field("filters", &mut is.filters, &wanted.filters);
        self.field("ack_wait", &mut is.rules.ack_wait, &wanted.rules.ack_wait);
        self.field("max_deliver", &mut is.rules.max_deliver, &wanted.rules.max_deliver);
        self.field("max_ack_pending", &mut is.rules.max_ack_pending, &wanted.rules.max_ack_pending);
        self.fixed("deliver_from", &is.deliver_from, &wanted.deliver_from);
        self.field("shared", &mut is.rules.shared, &wanted.rules.shared);
    }

    /// A setting that can be changed in place.
    fn field<T: PartialEq + Clone + fmt::Debug>(
        &mut self,
        field: &'static str,
        is: &mut T,
        wanted: &T,
    ) {
        if is != wanted {
            let drift = self.drift(field, is, wanted);
            let mended = self.plan.mends(&drift);
            if mended {
                is.clone_from(wanted);
            }
            self.found.push(Drift { mended, ..drift });
        }
    }

    /// One that a server can't change, so neither can this.
    fn fixed<T: PartialEq + fmt::Debug>(&mut self, field: &'static str, is: &T, wanted: &T) {
        if is != wanted {
            let drift = self.drift(field, is, wanted);
            self.found.push(drift);
        }
    }

    fn drift(&self, field: &'static str, is: &impl fmt::Debug, wanted: &impl fmt::Debug) -> Drift {
        Drift {
            object: self.object.clone(),
            field,
            expected: format!("{wanted:?}"),
            found: format!("{is:?}"),
            mended: false,
        }
    }
}
