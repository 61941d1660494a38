use std::sync::Arc;

use async_trait::async_trait;
use mesh_core::port::{
    Administration, ConsumerState, Drift, DriftMode, ErrorKind, Held, Operation, Position, Stored,
    StreamState, TransportError,
};
use mesh_core::topology::{ConsumerRef, StreamName, Topology};

use super::Port;
use crate::stream::{Plan, Stream, assert, check};

impl Port {
    /// Looks each time: the right may have been taken away since the connection was made.
    fn may_administer(&self, operation: Operation) -> Result<(), TransportError> {
        self.link.check_open(operation)?;
        self.link.access.administer(operation)
    }

    fn go_by(&self, topology: &Topology, plan: Plan<'_>) -> Result<Vec<Drift>, TransportError> {
        self.may_administer(Operation::Assert)?;
        let broker = &self.link.broker;
        let mut drift = Vec::new();
        let mut changes = Vec::new();
        {
            // One assertion at a time: what is checked is what is then changed.
            let mut streams = broker.streams.write();
            check(topology, &streams)?;
            let created = broker.clock.now();
            for spec in topology.streams() {
                let is_made = matches!(plan, Plan::Assert(_));
                if is_made && !streams.iter().any(|stream| stream.name == spec.name) {
                    streams.push(Arc::new(Stream::new(spec.clone(), created)));
                }
            }
            for stream in streams.iter() {
                let (found, effects) = assert(stream, topology, plan);
                drift.extend(found);
                changes.push(effects);
            }
            broker.hub.set_streams(streams.clone());
        }
        for effects in changes {
            broker.run(effects);
        }
        Ok(drift)
    }
}

#[async_trait]
impl Administration for Port {
    async fn assert(
        &self,
        topology: &Topology,
        mode: DriftMode,
    ) -> Result<Vec<Drift>, TransportError> {
        self.go_by(topology, Plan::Assert(mode))
    }

    async fn mend(
        &self,
        topology: &Topology,
        chosen: &[Drift],
    ) -> Result<Vec<Drift>, TransportError> {
        self.go_by(topology, Plan::Mend(chosen))
    }

    async fn list(&self) -> Result<Vec<Held>, TransportError> {
        self.may_administer(Operation::Inspect)?;
        let streams = self.link.broker.streams.read().clone();
        let held = streams.iter().flat_map(|stream| {
            let consumers = stream.consumers().into_iter();
            let consumers =
                consumers.map(|name| Held::Consumer(ConsumerRef::new(stream.name, name)));
            std::iter::once(Held::Stream(stream.name)).chain(consumers)
        });
        Ok(held.collect())
    }

    async fn read(
        &self,
        stream: StreamName,
        position: Position,
    ) -> Result<Option<Stored>, TransportError> {
        self.may_administer(Operation::Read)?;
        let broker = &self.link.broker;
        let stream = broker.stream(stream).ok_or_else(|| {
            TransportError::new(ErrorKind::NotFound, Operation::Read).about(stream.as_str())
        })?;
        Ok(stream.read(&position, broker.clock.monotonic()))
    }

    async fn inspect(&self, stream: StreamName) -> Result<Option<StreamState>, TransportError> {
        self.may_administer(Operation::Inspect)?;
        let broker = &self.link.broker;
        let stream = broker.stream(stream);
        Ok(stream.map(|stream| stream.state(broker.clock.monotonic())))
    }

    async fn inspect_consumer(
        &self,
        consumer: &ConsumerRef,
    ) -> Result<Option<ConsumerState>, TransportError> {
        self.may_administer(Operation::Inspect)?;
        let broker = &self.link.broker;
        let now = broker.clock.monotonic();
        Ok(broker
            .stream(consumer.stream)
            .and_then(|stream| stream.consumer_state(&consumer.consumer, now)))
    }

    async fn retire(&self, consumer: &ConsumerRef) -> Result<bool, TransportError> {
        self.may_administer(Operation::Retire)?;
        let broker = &self.link.broker;
        let Some(stream) = broker.stream(consumer.stream) else {
            return Ok(false);
        };
        let (was_there, effects) = stream.retire(&consumer.consumer);
        broker.run(effects);
        Ok(was_there)
    }
}
