//! What a broker holds, beside what a topology names.

use std::collections::BTreeSet;

use mesh_core::port::{Administration, ErrorKind, Held, TransportError};
use mesh_core::topology::{ConsumerRef, SeatAddress, StreamName, Topology};

/// What there is.
#[derive(Debug, Clone, Default)]
pub(super) struct Presence {
    held: BTreeSet<Held>,
    /// Whether the broker listed it, so that strangers are among it too.
    pub(super) is_whole: bool,
}

impl Presence {
    /// Looks, by a list where the broker has one, else at each that `topology` names.
    pub(super) async fn look(
        administration: &dyn Administration,
        topology: &Topology,
    ) -> Result<Self, TransportError> {
        match administration.list().await {
            Ok(held) => Ok(Self { held: held.into_iter().collect(), is_whole: true }),
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                let mut held = BTreeSet::new();
                for named in named(topology) {
                    if is_there(administration, &named).await? {
                        held.insert(named);
                    }
                }
                Ok(Self { held, is_whole: false })
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn has_stream(&self, stream: StreamName) -> bool {
        self.held.contains(&Held::Stream(stream))
    }

    pub(super) fn has_consumer(&self, consumer: &ConsumerRef) -> bool {
        self.held.contains(&Held::Consumer(consumer.clone()))
    }

    pub(super) fn has(&self, held: &Held) -> bool {
        self.held.contains(held)
    }

    pub(super) fn note(&mut self, held: Held) {
        self.held.insert(held);
    }

    /// What `topology` doesn't name.
    pub(super) fn strangers(&self, topology: &Topology) -> Vec<Held> {
        let named: BTreeSet<Held> = named(topology).collect();
        // Who has a seat of the mesh is kept beside its streams, and asked for by no file.
        let is_seat = |held: &&Held| matches!(held, Held::Other(name) if SeatAddress::of_stream(name).is_some());
        self.held.difference(&named).filter(|held| !is_seat(held)).cloned().collect()
    }

    /// Of `topology` what is there.
    pub(super) fn part_of(&self, topology: &Topology) -> Topology {
        let streams = topology.streams().iter().filter(|spec| self.has_stream(spec.name));
        let consumers = topology.consumers().iter();
        let there = consumers.filter(|spec| {
            self.has_stream(spec.reference.stream) && self.has_consumer(&spec.reference)
        });
        let part = streams.fold(nothing(), |part, spec| part.with_stream(spec.clone()));
        part.with_consumers(there.cloned())
    }
}

/// The streams and consumers of a topology, streams first.
pub(super) fn named(topology: &Topology) -> impl Iterator<Item = Held> + '_ {
    let streams = topology.streams().iter().map(|spec| Held::Stream(spec.name));
    let consumers = topology.consumers().iter();
    streams.chain(consumers.map(|spec| Held::Consumer(spec.reference.clone())))
}

/// Whether it is there, asked by its name.
pub(super) async fn is_there(
    administration: &dyn Administration,
    held: &Held,
) -> Result<bool, TransportError> {
    let looked = match held {
        Held::Stream(stream) => administration.inspect(*stream).await.map(|state| state.is_some()),
        Held::Consumer(consumer) => {
            administration.inspect_consumer(consumer).await.map(|state| state.is_some())
        }
        Held::Other(_) => return Ok(false),
    };
    match looked {
        // It can't be counted, so there is something; or the broker has no need of it.
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(true),
        looked => looked,
    }
}

/// A topology of no stream.
pub(super) fn nothing() -> Topology {
    StreamName::ALL.into_iter().fold(Topology::new(), Topology::without_stream)
}
