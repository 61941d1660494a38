//! Making the broker hold a topology, and telling where it holds another.
//!
//! A declaration creates what is missing, and is refused with the first argument that differs where it is
//! there otherwise. AMQP has no way to ask for the arguments themselves: so it is declared again with the
//! argument that was found, until the broker agrees. None can be changed in place.

use lapin::options::{ExchangeDeclareOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{Channel, ExchangeKind};
use mesh_core::port::{Drift, ErrorKind, Operation, TransportError};
use mesh_core::topology::{AmqpExchange, StreamName, Topology};
use tokio::time::Instant;

use super::refusal::{Otherwise, shown};
use super::wanted::{self, Wanted};
use super::{PATIENCE, has_exchange, look};
use crate::link::deadline;
use crate::session::Session;

const OPERATION: Operation = Operation::Assert;

/// Whether what is missing is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Made,
    Left,
}

/// See the module.
pub(super) async fn assert(
    session: &Session,
    topology: &Topology,
    missing: Missing,
) -> Result<Vec<Drift>, TransportError> {
    let queues = wanted::queues(topology)?;
    let mut drift = Vec::new();
    for exchange in topology.amqp_exchanges() {
        if missing == Missing::Left && !has_exchange(session, OPERATION, exchange, due()).await? {
            continue;
        }
        drift.extend(assert_exchange(session, exchange).await?);
    }
    for queue in &queues {
        if missing == Missing::Left && look(session, OPERATION, &queue.name, due()).await?.is_none()
        {
            continue;
        }
        for found in assert_queue(session, queue).await? {
            // The queues of one stream differ together.
            if !drift.contains(&found) {
                drift.push(found);
            }
        }
        if missing == Missing::Made {
            bind(session, queue).await?;
        }
    }
    Ok(drift)
}

fn due() -> Instant {
    deadline(PATIENCE)
}

async fn assert_exchange(
    session: &Session,
    exchange: AmqpExchange,
) -> Result<Option<Drift>, TransportError> {
    let durable = ExchangeDeclareOptions { durable: true, ..ExchangeDeclareOptions::default() };
    let declare = |channel: Channel| async move {
        let name = exchange.as_str().into();
        channel.exchange_declare(name, ExchangeKind::Topic, durable, FieldTable::default()).await
    };
    let object = match exchange {
        AmqpExchange::Events => StreamName::Events.as_str(),
        AmqpExchange::EventsDead => StreamName::EventsDead.as_str(),
        other => other.as_str(),
    };
    let Err(error) = session.try_out(OPERATION, deadline(PATIENCE), declare).await else {
        return Ok(None);
    };
    let Some(found) = otherwise(&error) else { return Err(error.about(exchange.as_str())) };
    let (field, expected) = match found.argument.as_str() {
        "type" => ("type", "topic".to_owned()),
        other => (name_of(other), "true".to_owned()),
    };
    Ok(Some(drift(object, field, expected, &found)))
}

async fn assert_queue(session: &Session, queue: &Wanted) -> Result<Vec<Drift>, TransportError> {
    let mut all: Vec<Drift> = Vec::new();
    let mut arguments = queue.arguments.clone();
    loop {
        let table = Wanted::table(&arguments);
        let name = queue.name.clone();
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        let declare = |channel: Channel| async move {
            channel.queue_declare(name.into(), durable, table).await
        };
        let Err(error) = session.try_out(OPERATION, deadline(PATIENCE), declare).await else {
            return Ok(all);
        };
        let Some(found) = otherwise(&error) else { return Err(error.about(&queue.name)) };
        let field = name_of(&found.argument);
        let object = queue.object(field);
        let again = all.iter().any(|known| known.field == field);
        if !again {
            let expected = shown(queue.arguments.get(field));
            all.push(drift(object, field, expected, &found));
        }
        // One that is no argument of ours, such as whether it lasts, can't be declared otherwise.
        let ours = queue.arguments.get(field);
        if again || !field.starts_with("x-") {
            return Ok(all);
        }
        match found.value(ours) {
            Some(value) => drop(arguments.insert(field, value)),
            None => drop(arguments.remove(field)),
        }
    }
}

/// A binding that is there already stays as it is.
async fn bind(session: &Session, queue: &Wanted) -> Result<(), TransportError> {
    let (name, bindings) = (queue.name.clone(), queue.bindings.clone());
    let binding = |channel: Channel| async move {
        for (exchange, pattern) in bindings {
            let (name, exchange) = (name.clone().into(), exchange.as_str().into());
            let key = pattern.as_str().into();
            let options = QueueBindOptions::default();
            channel.queue_bind(name, exchange, key, options, FieldTable::default()).await?;
        }
        Ok(())
    };
    let bound = session.try_out(OPERATION, deadline(PATIENCE), binding).await;
    bound.map_err(|error| error.about(&queue.name))
}

fn otherwise(error: &TransportError) -> Option<Otherwise> {
    let source = std::error::Error::source(error)?.downcast_ref::<lapin::Error>()?;
    let lapin::ErrorKind::ProtocolError(said) = source.kind() else { return None };
    let refused = error.kind() == ErrorKind::Broker;
    refused.then(|| Otherwise::read(said.get_message().as_str())).flatten()
}

fn drift(object: &str, field: &'static str, expected: String, found: &Otherwise) -> Drift {
    let found = found.current.clone().unwrap_or_else(|| "none".to_owned());
    Drift { object: object.to_owned(), field, expected, found, mended: false }
}

/// The name of an argument that a queue or exchange can differ in.
fn name_of(argument: &str) -> &'static str {
    const OTHERS: [&str; 14] = [
        "durable",
        "auto_delete",
        "exclusive",
        "internal",
        "type",
        "x-expires",
        "x-max-priority",
        "x-queue-mode",
        "x-queue-version",
        "x-queue-master-locator",
        "x-dead-letter-routing-key",
        "x-max-in-memory-length",
        "x-quorum-initial-group-size",
        "x-queue-leader-locator",
    ];
    let ours = [
        wanted::TYPE,
        wanted::DELIVERY_LIMIT,
        wanted::DEAD_LETTERS,
        wanted::STRATEGY,
        wanted::SINGLE_ACTIVE,
        wanted::MAX_BYTES,
        wanted::MAX_LENGTH,
        wanted::OVERFLOW,
        wanted::TTL,
    ];
    ours.into_iter().chain(OTHERS).find(|known| *known == argument).unwrap_or("another argument")
}
