//! What a topology means in queues and their arguments (protocol §7), as the client says it.

use std::collections::BTreeMap;

use lapin::types::{AMQPValue, FieldTable, ShortString};
use mesh_core::binding::BindingPattern;
use mesh_core::name::ConsumerName;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::topology::{
    AmqpArgument, AmqpExchange, ConsumerRef, DurableQueue, DurableQueueError, StreamName, Topology,
};

/// The arguments that a queue of ours may have. Which of them follow from its stream, the others from its
/// consumer.
pub(super) const TYPE: &str = AmqpArgument::TYPE;
pub(super) const DELIVERY_LIMIT: &str = AmqpArgument::DELIVERY_LIMIT;
pub(super) const DEAD_LETTERS: &str = AmqpArgument::DEAD_LETTERS;
pub(super) const STRATEGY: &str = AmqpArgument::STRATEGY;
pub(super) const SINGLE_ACTIVE: &str = AmqpArgument::SINGLE_ACTIVE;
pub(super) const MAX_BYTES: &str = AmqpArgument::MAX_BYTES;
pub(super) const MAX_LENGTH: &str = AmqpArgument::MAX_LENGTH;
pub(super) const OVERFLOW: &str = AmqpArgument::OVERFLOW;
pub(super) const TTL: &str = AmqpArgument::TTL;

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
    let queues = topology.amqp_queues().map_err(|error| refused(&error))?;
    Ok(queues.into_iter().map(wanted).collect())
}

fn wanted(of: DurableQueue) -> Wanted {
    let DurableQueue { queue, arguments, consumer } = of;
    let arguments = arguments.into_iter().map(|(name, value)| (name, self::value(value)));
    Wanted {
        name: queue.name,
        arguments: arguments.collect(),
        bindings: queue.bindings,
        consumer: consumer.to_string(),
        stream: consumer.stream.to_string(),
    }
}

fn value(of: AmqpArgument) -> AMQPValue {
    match of {
        AmqpArgument::Text(text) => AMQPValue::LongString(text.into()),
        AmqpArgument::Flag(flag) => AMQPValue::Boolean(flag),
        AmqpArgument::Number(number) => {
            AMQPValue::LongLongInt(i64::try_from(number).unwrap_or(i64::MAX))
        }
    }
}

fn refused(error: &DurableQueueError) -> TransportError {
    let (kind, consumer, detail) = match error {
        DurableQueueError::NoStream { consumer } => {
            (ErrorKind::NotFound, consumer, "its stream is not in the topology".to_owned())
        }
        DurableQueueError::Untranslatable { consumer, error } => {
            (ErrorKind::Invalid, consumer, error.to_string())
        }
        // There is no third today.
        other => {
            let told = TransportError::new(ErrorKind::Invalid, Operation::Assert);
            return told.detail(other.to_string());
        }
    };
    TransportError::new(kind, Operation::Assert).about(consumer.to_string()).detail(detail)
}
