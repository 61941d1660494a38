//! The controller's side of RabbitMQ: exchanges, queues and bindings, as far as AMQP can say and ask. What
//! it can't is told as such: who asks how many deliveries are unsettled hears nothing, and a log that lies
//! in its consumers' queues is not counted.

mod assert;
mod refusal;
mod wanted;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lapin::Queue;
use lapin::options::{ExchangeDeclareOptions, QueueDeclareOptions, QueueDeleteOptions};
use lapin::types::FieldTable;
use mesh_core::port::{
    Administration, ConsumerState, Drift, DriftMode, ErrorKind, Held, Operation, Position, Stored,
    StreamState, TransportError,
};
use mesh_core::topology::{AmqpExchange, ConsumerRef, StreamName, Topology};
use tokio::time::Instant;

use assert::Missing;

use crate::link::deadline;
use crate::port::Owner;
use crate::session::Session;

/// How long one question may take: a queue that is spread over nodes is not made at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// See the module.
#[derive(Debug)]
pub(crate) struct Admin {
    pub(crate) owner: Arc<Owner>,
}

impl Admin {
    async fn session(
        &self,
        operation: Operation,
    ) -> Result<(Arc<Session>, Instant), TransportError> {
        let link = self.owner.link();
        link.line.check_open(operation)?;
        let due = deadline(PATIENCE);
        Ok((link.line.session(operation, due).await?, due))
    }
}

#[async_trait]
impl Administration for Admin {
    async fn assert(
        &self,
        topology: &Topology,
        _mode: DriftMode,
    ) -> Result<Vec<Drift>, TransportError> {
        let (session, _) = self.session(Operation::Assert).await?;
        assert::assert(&session, topology, Missing::Made).await
    }

    async fn mend(
        &self,
        topology: &Topology,
        _chosen: &[Drift],
    ) -> Result<Vec<Drift>, TransportError> {
        let (session, _) = self.session(Operation::Assert).await?;
        assert::assert(&session, topology, Missing::Left).await
    }

    async fn list(&self) -> Result<Vec<Held>, TransportError> {
        self.owner.link().line.check_open(Operation::Inspect)?;
        Err(TransportError::new(ErrorKind::Unsupported, Operation::Inspect)
            .detail("AMQP lists no queues; ask for each by its name"))
    }

    async fn read(
        &self,
        stream: StreamName,
        _position: Position,
    ) -> Result<Option<Stored>, TransportError> {
        self.owner.link().line.check_open(Operation::Read)?;
        Err(TransportError::new(ErrorKind::Unsupported, Operation::Read)
            .about(stream.as_str())
            .detail("RabbitMQ numbers no messages"))
    }

    async fn inspect(&self, stream: StreamName) -> Result<Option<StreamState>, TransportError> {
        let operation = Operation::Inspect;
        let (session, due) = self.session(operation).await?;
        let about = |error: TransportError| error.about(stream.as_str());
        let queues = match stream {
            StreamName::Control | StreamName::Builds | StreamName::EventsDead => {
                wanted::queues_of_stream(stream)
            }
            // Whatever a queue keeps is its consumer's, and no message is the stream's own.
            StreamName::Events => {
                let there = has_exchange(&session, operation, AmqpExchange::Events, due).await;
                return match there.map_err(about)? {
                    false => Ok(None),
                    true => Err(uncounted(stream)),
                };
            }
            StreamName::Nodes => return Err(uncounted(stream)),
            // The broker makes its dead letters by itself, and gives no notice.
            _ => {
                return Err(TransportError::new(ErrorKind::Unsupported, operation)
                    .about(stream.as_str())
                    .detail("there is no such stream on RabbitMQ"));
            }
        };
        let mut found: Option<StreamState> = None;
        for name in &queues {
            if let Some(queue) = look(&session, operation, name, due).await.map_err(about)? {
                let state = found.get_or_insert(StreamState {
                    messages: 0,
                    bytes: None,
                    max_bytes: None,
                    first_sequence: None,
                    last_sequence: None,
                    consumers: 1,
                    created: None,
                });
                state.messages += u64::from(queue.message_count());
            }
        }
        Ok(found)
    }

    async fn inspect_consumer(
        &self,
        consumer: &ConsumerRef,
    ) -> Result<Option<ConsumerState>, TransportError> {
        let operation = Operation::Inspect;
        let (session, due) = self.session(operation).await?;
        if consumer.amqp_queues().is_empty() {
            return Err(TransportError::new(ErrorKind::Unsupported, operation)
                .about(consumer.to_string())
                .detail("there is no such consumer on RabbitMQ"));
        }
        let mut found: Option<ConsumerState> = None;
        for name in consumer.amqp_queues() {
            let looked = look(&session, operation, &name, due).await;
            if let Some(queue) = looked.map_err(|error| error.about(consumer.to_string()))? {
                let state = found.get_or_insert(ConsumerState {
                    pending: 0,
                    in_flight: None,
                    redelivered: None,
                    is_read: Some(false),
                });
                state.pending += u64::from(queue.message_count());
                if queue.consumer_count() > 0 {
                    state.is_read = Some(true);
                }
            }
        }
        Ok(found)
    }

    async fn retire(&self, consumer: &ConsumerRef) -> Result<bool, TransportError> {
        let operation = Operation::Retire;
        let (session, due) = self.session(operation).await?;
        let about = |error: TransportError| error.about(consumer.to_string());
        if !matches!(consumer.stream, StreamName::Events | StreamName::Nodes) {
            let told = TransportError::new(ErrorKind::Unsupported, operation);
            return Err(about(told.detail("its queue is all that there is of the stream")));
        }
        let mut was_there = false;
        for name in consumer.amqp_queues() {
            if look(&session, operation, &name, due).await.map_err(about)?.is_none() {
                continue;
            }
            let delete = |channel: lapin::Channel| async move {
                channel.queue_delete(name.into(), QueueDeleteOptions::default()).await
            };
            session.try_out(operation, due, delete).await.map_err(about)?;
            was_there = true;
        }
        Ok(was_there)
    }
}

fn uncounted(stream: StreamName) -> TransportError {
    TransportError::new(ErrorKind::Unsupported, Operation::Inspect)
        .about(stream.as_str())
        .detail("its messages lie in its consumers' queues; ask for each of them")
}

/// How a queue is, if it is there.
async fn look(
    session: &Session,
    operation: Operation,
    name: &str,
    due: Instant,
) -> Result<Option<Queue>, TransportError> {
    let name = name.to_owned();
    let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    let looking = |channel: lapin::Channel| async move {
        channel.queue_declare(name.into(), passive, FieldTable::default()).await
    };
    absent_is_none(session.try_out(operation, due, looking).await)
}

/// Whether an exchange is there.
async fn has_exchange(
    session: &Session,
    operation: Operation,
    exchange: AmqpExchange,
    due: Instant,
) -> Result<bool, TransportError> {
    let passive = ExchangeDeclareOptions { passive: true, ..ExchangeDeclareOptions::default() };
    let looking = |channel: lapin::Channel| async move {
        let kind = lapin::ExchangeKind::Topic;
        channel
            .exchange_declare(exchange.as_str().into(), kind, passive, FieldTable::default())
            .await
    };
    let found = absent_is_none(session.try_out(operation, due, looking).await)?;
    Ok(found.is_some())
}

fn absent_is_none<T>(found: Result<T, TransportError>) -> Result<Option<T>, TransportError> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
