//! A place in one session: a channel, with a consumer on each of the queues.

use lapin::options::{BasicConsumeOptions, BasicQosOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Consumer};
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::time::Instant;

use crate::session::Session;

const OPERATION: Operation = Operation::Consume;

/// Takes a place: at most `most` deliveries of each queue are out at a time. Only the first queue must be
/// there.
///
/// # Errors
/// `NotFound`, `Denied`, and without the broker's word `TimedOut` and `Disconnected`.
pub(super) async fn take(
    session: &Session,
    queues: &[String],
    most: u16,
    due: Instant,
) -> Result<(Channel, Vec<Consumer>), TransportError> {
    let mut there = Vec::new();
    for queue in queues {
        match look(session, queue, due).await {
            Ok(()) => there.push(queue),
            Err(error) if error.kind() == ErrorKind::NotFound && !there.is_empty() => {}
            Err(error) => return Err(error),
        }
    }
    if there.is_empty() {
        return Err(
            TransportError::new(ErrorKind::NotFound, OPERATION).detail("AMQP has no such queue")
        );
    }
    let channel = session.reading_channel(OPERATION, due).await?;
    session.answered(OPERATION, due, channel.basic_qos(most, BasicQosOptions::default())).await?;
    let mut consumers = Vec::new();
    for queue in there {
        let (queue, tag) = (queue.as_str().into(), "".into());
        let options = BasicConsumeOptions::default();
        let asking = channel.basic_consume(queue, tag, options, FieldTable::default());
        consumers.push(session.answered(OPERATION, due, asking).await?);
    }
    Ok((channel, consumers))
}

/// Asks whether a queue is there, which takes no right.
async fn look(session: &Session, queue: &str, due: Instant) -> Result<(), TransportError> {
    let queue = queue.to_owned();
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let looking = |channel: Channel| async move {
        channel.queue_declare(queue.into(), passive, FieldTable::default()).await
    };
    session.try_out(OPERATION, due, looking).await.map(drop)
}

/// Returns when the broker has handled what was sent on `channel` before.
pub(super) async fn round_trip(
    session: &Session,
    channel: &Channel,
    most: u16,
    operation: Operation,
    due: Instant,
) -> Result<(), TransportError> {
    session.answered(operation, due, channel.basic_qos(most, BasicQosOptions::default())).await
}
