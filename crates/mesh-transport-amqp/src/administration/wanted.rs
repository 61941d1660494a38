//! What a topology means in queues, exchanges and their arguments (protocol §7).

use std::collections::BTreeMap;

use lapin::types::{AMQPValue, FieldTable, ShortString};
use mesh_core::binding::{BindingPattern, Untranslatable};
use mesh_core::name::ConsumerName;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::topology::{
    AmqpExchange, AmqpQueue, AmqpQueueKind, ConsumerRef, ConsumerRules, ConsumerSpec, DeliverFrom,
    StreamName, StreamSpec, Topology,
};

/// The arguments that a queue of ours may have. Which of them follow from its stream, the others from its
/// consumer.
pub(super) const TYPE: &str = "x-queue-type";
pub(super) const DELIVERY_LIMIT: &str = "x-delivery-limit";
pub(super) const DEAD_LETTERS: &str = "x-dead-letter-exchange";
pub(super) const STRATEGY: &str = "x-dead-letter-strategy";
pub(super) const SINGLE_ACTIVE: &str = "x-single-active-consumer";
pub(super) const MAX_BYTES: &str = "x-max-length-bytes";
pub(super) const MAX_LENGTH: &str = "x-max-length";
pub(super) const OVERFLOW: &str = "x-overflow";
pub(super) const TTL: &str = "x-message-ttl";

pub(super) type Arguments = BTreeMap<&'static str, AMQPValue>;

/// A queue as it should be.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) arguments: Arguments,
    pub(super) bindings: Vec<(AmqpExchange, BindingPattern)>,
    /// What differs in the first is its consumer's, in the second its stream's.
    consumer: String,
    stream: String,
}

impl Wanted {
    /// The stream or consumer that an argument is said of.
    pub(super) fn object(&self, argument: &str) -> &str {
        match argument {
            MAX_BYTES | MAX_LENGTH | OVERFLOW | TTL => &self.stream,
            _ => &self.consumer,
        }
    }

    pub(super) fn table(arguments: &Arguments) -> FieldTable {
        let mut table = FieldTable::default();
        for (name, value) in arguments {
            table.insert(ShortString::from(*name), value.clone());
        }
        table
    }
}

/// The exchanges of a topology: what streams are fed by, and those that nothing is kept of.
pub(super) fn exchanges(topology: &Topology) -> impl Iterator<Item = AmqpExchange> + '_ {
    AmqpExchange::NAMED.into_iter().filter(|exchange| match exchange {
        AmqpExchange::Events => topology.stream(StreamName::Events).is_some(),
        AmqpExchange::EventsDead => topology.stream(StreamName::EventsDead).is_some(),
        _ => true,
    })
}

/// The queues that keep a stream itself.
pub(super) fn queues_of_stream(stream: StreamName) -> Vec<String> {
    own_consumer(stream).map_or_else(Vec::new, |of| of.amqp_queues())
}

/// Whoever reads a stream whose queue is its own, whatever it is called.
fn own_consumer(stream: StreamName) -> Option<ConsumerRef> {
    let name = match stream {
        StreamName::Builds => "builder",
        StreamName::Control | StreamName::EventsDead => "controller",
        _ => return None,
    };
    ConsumerName::new(name).ok().map(|name| ConsumerRef::new(stream, name))
}

/// The queues of a topology.
///
/// # Errors
/// `Invalid` for a filter that no binding can be made of, `NotFound` for a consumer of a stream that is not
/// in the topology.
pub(super) fn queues(topology: &Topology) -> Result<Vec<Wanted>, TransportError> {
    let mut all: Vec<Wanted> = Vec::new();
    let mut specs: Vec<ConsumerSpec> = topology.consumers().to_vec();
    // The dead letters have a queue, whether somebody reads it or not.
    let dead = topology.stream(StreamName::EventsDead).and_then(|stream| {
        own_consumer(stream.name).map(|reference| ConsumerSpec {
            reference,
            filters: stream.subjects.clone(),
            rules: ConsumerRules::of(stream.name),
            deliver_from: DeliverFrom::All,
        })
    });
    specs.extend(dead);
    for spec in &specs {
        let object = spec.reference.to_string();
        let queues = spec.to_amqp().map_err(|error| untranslatable(&error, &object))?;
        if queues.is_empty() {
            continue;
        }
        let Some(stream) = topology.stream(spec.reference.stream) else {
            return Err(TransportError::new(ErrorKind::NotFound, Operation::Assert)
                .about(object)
                .detail("its stream is not in the topology"));
        };
        for queue in queues {
            if all.iter().all(|known| known.name != queue.name) {
                all.push(wanted(queue, stream, object.clone()));
            }
        }
    }
    Ok(all)
}

fn wanted(queue: AmqpQueue, stream: &StreamSpec, consumer: String) -> Wanted {
    let mut arguments = Arguments::new();
    let text = |text: &str| AMQPValue::LongString(text.into());
    match queue.kind {
        AmqpQueueKind::Quorum { delivery_limit } => {
            arguments.insert(TYPE, text("quorum"));
            if let Some(limit) = delivery_limit {
                arguments.insert(DELIVERY_LIMIT, AMQPValue::LongLongInt(limit.into()));
            }
            if stream.name == StreamName::Events {
                // What is given up leaves its queue once the dead letters have it, and not before.
                arguments.insert(DEAD_LETTERS, text(AmqpExchange::EventsDead.as_str()));
                arguments.insert(STRATEGY, text("at-least-once"));
            }
        }
        AmqpQueueKind::SingleActive => {
            arguments.insert(SINGLE_ACTIVE, AMQPValue::Boolean(true));
        }
        AmqpQueueKind::Newest => {
            arguments.insert(MAX_LENGTH, AMQPValue::LongLongInt(1));
            arguments.insert(OVERFLOW, text("drop-head"));
        }
        AmqpQueueKind::Calls => {}
    }
    if queue.kind != AmqpQueueKind::Newest {
        arguments.insert(MAX_BYTES, number(stream.max_bytes));
        // Whoever sends hears that there is no room.
        arguments.insert(OVERFLOW, text("reject-publish"));
        if let Some(age) = stream.max_age {
            let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            arguments.insert(TTL, number(millis));
        }
    }
    let (name, bindings) = (queue.name, queue.bindings);
    Wanted { name, arguments, bindings, consumer, stream: stream.name.to_string() }
}

fn number(value: u64) -> AMQPValue {
    AMQPValue::LongLongInt(i64::try_from(value).unwrap_or(i64::MAX))
}

fn untranslatable(error: &Untranslatable, object: &str) -> TransportError {
    TransportError::new(ErrorKind::Invalid, Operation::Assert)
        .about(object)
        .detail(error.to_string())
}
