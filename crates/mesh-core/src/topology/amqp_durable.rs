//! The durable queues of a topology on AMQP, with the arguments that they are declared with (protocol §7).

use std::collections::BTreeMap;

use super::{
    AmqpExchange, AmqpQueue, AmqpQueueKind, ConsumerRef, ConsumerRules, ConsumerSpec, DeliverFrom,
    StreamName, StreamSpec, Topology,
};
use crate::binding::Untranslatable;
use crate::name::ConsumerName;

/// A queue that a consumer's deliveries wait in, as it is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is data that the adapter interprets whole")]
pub struct DurableQueue {
    /// Name, kind and bindings.
    pub queue: AmqpQueue,
    /// What it is declared with, by the argument's name: `x-queue-type`.
    pub arguments: BTreeMap<&'static str, AmqpArgument>,
    /// Whose it is.
    pub consumer: ConsumerRef,
}

/// The value of an argument of a queue's declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the legacy wire gets no new kind")]
pub enum AmqpArgument {
    /// A text.
    Text(&'static str),
    /// A number: of messages, bytes or milliseconds.
    Number(u64),
    /// A truth value.
    Flag(bool),
}

impl AmqpArgument {
    /// How a queue keeps what it has: `quorum`.
    pub const TYPE: &'static str = "x-queue-type";
    /// How often a message may come back, one less than the tries.
    pub const DELIVERY_LIMIT: &'static str = "x-delivery-limit";
    /// Where goes what is given up.
    pub const DEAD_LETTERS: &'static str = "x-dead-letter-exchange";
    /// Whether a message stays until the dead letters have it.
    pub const STRATEGY: &'static str = "x-dead-letter-strategy";
    /// Whether one reader has it alone.
    pub const SINGLE_ACTIVE: &'static str = "x-single-active-consumer";
    /// The most bytes.
    pub const MAX_BYTES: &'static str = "x-max-length-bytes";
    /// The most messages.
    pub const MAX_LENGTH: &'static str = "x-max-length";
    /// What gives way where it is full.
    pub const OVERFLOW: &'static str = "x-overflow";
    /// The oldest a message gets, in milliseconds.
    pub const TTL: &'static str = "x-message-ttl";
}

/// Why a topology has no form on AMQP.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DurableQueueError {
    /// A filter of it has no binding pattern.
    #[error("{consumer}: {error}")]
    Untranslatable {
        /// The consumer.
        consumer: ConsumerRef,
        /// Why, with a counter-example.
        error: Untranslatable,
    },
    /// It is a consumer of a stream that is not in the topology.
    #[error("{consumer}: its stream is not in the topology")]
    NoStream {
        /// The consumer.
        consumer: ConsumerRef,
    },
}

impl Topology {
    /// The exchanges: what streams are fed by, and those that nothing is kept of. All are topic exchanges.
    pub fn amqp_exchanges(&self) -> impl Iterator<Item = AmqpExchange> + '_ {
        AmqpExchange::NAMED.into_iter().filter(|exchange| match exchange {
            AmqpExchange::Events => self.stream(StreamName::Events).is_some(),
            AmqpExchange::EventsDead => self.stream(StreamName::EventsDead).is_some(),
            _ => true,
        })
    }

    /// The durable queues, each once. The dead letters have one, whether somebody reads it or not.
    ///
    /// ```
    /// use mesh_core::topology::{AmqpArgument, Topology};
    ///
    /// let queues = Topology::new().with_node(&"n1".parse()?).amqp_queues()?;
    /// let names: Vec<&str> = queues.iter().map(|one| one.queue.name.as_str()).collect();
    /// assert_eq!(
    ///     names,
    ///     ["control", "control.upgrades", "control.catchup", "builds", "node.n1", "mesh.events.dead"]
    /// );
    /// let newest = queues[4].arguments[AmqpArgument::MAX_LENGTH];
    /// assert_eq!(newest, AmqpArgument::Number(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DurableQueueError`] for what AMQP has no form for.
    pub fn amqp_queues(&self) -> Result<Vec<DurableQueue>, DurableQueueError> {
        let mut all: Vec<DurableQueue> = Vec::new();
        let dead = self.stream(StreamName::EventsDead).map(|stream| ConsumerSpec {
            reference: ConsumerRef::new(stream.name, ConsumerName::fixed("controller")),
            filters: stream.subjects.clone(),
            rules: ConsumerRules::of(stream.name),
            deliver_from: DeliverFrom::All,
        });
        let mut known = std::collections::HashSet::new();
        for spec in self.consumers().iter().chain(&dead) {
            let consumer = || spec.reference.clone();
            let queues = spec.to_amqp().map_err(|error| DurableQueueError::Untranslatable {
                consumer: consumer(),
                error,
            })?;
            if queues.is_empty() {
                continue;
            }
            let stream = self.stream(spec.reference.stream);
            let stream =
                stream.ok_or_else(|| DurableQueueError::NoStream { consumer: consumer() })?;
            for queue in queues {
                if known.insert(queue.name.clone()) {
                    let arguments = queue.arguments(stream);
                    all.push(DurableQueue { queue, arguments, consumer: consumer() });
                }
            }
        }
        Ok(all)
    }
}

impl AmqpQueue {
    /// What the queue of a consumer of `stream` is declared with.
    fn arguments(&self, stream: &StreamSpec) -> BTreeMap<&'static str, AmqpArgument> {
        use AmqpArgument::{Flag, Number, Text};
        let mut arguments = BTreeMap::new();
        match self.kind {
            AmqpQueueKind::Quorum { delivery_limit } => {
                arguments.insert(AmqpArgument::TYPE, Text("quorum"));
                if let Some(limit) = delivery_limit {
                    arguments.insert(AmqpArgument::DELIVERY_LIMIT, Number(limit.into()));
                }
                if stream.name == StreamName::Events {
                    // What is given up leaves its queue once the dead letters have it, and not before.
                    let dead = AmqpExchange::EventsDead.as_str();
                    arguments.insert(AmqpArgument::DEAD_LETTERS, Text(dead));
                    arguments.insert(AmqpArgument::STRATEGY, Text("at-least-once"));
                }
            }
            AmqpQueueKind::SingleActive => {
                arguments.insert(AmqpArgument::SINGLE_ACTIVE, Flag(true));
            }
            AmqpQueueKind::Newest => {
                arguments.insert(AmqpArgument::MAX_LENGTH, Number(1));
                arguments.insert(AmqpArgument::OVERFLOW, Text("drop-head"));
            }
            AmqpQueueKind::Calls => {}
        }
        if self.kind != AmqpQueueKind::Newest {
            arguments.insert(AmqpArgument::MAX_BYTES, Number(stream.max_bytes));
            // Whoever sends hears that there is no room.
            arguments.insert(AmqpArgument::OVERFLOW, Text("reject-publish"));
            if let Some(age) = stream.max_age {
                let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
                arguments.insert(AmqpArgument::TTL, Number(millis));
            }
        }
        arguments
    }
}
