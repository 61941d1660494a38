//! Publishing: confirmed by the broker, and a refusal harms nobody but its own message.

use std::sync::Arc;

use bytes::Bytes;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::ShortString;
use lapin::{BasicProperties, Confirmation};
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::topology::{AmqpExchange, AmqpRoute};
use tokio::time::{Instant, timeout_at};

use crate::convert;
use crate::error::{clipped, failed, lost, timed_out};
use crate::link::Link;
use crate::session::Session;

/// What is to be published, and where.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) exchange: AmqpExchange,
    pub(crate) key: ShortString,
    /// Whether it comes back where no queue takes it.
    pub(crate) mandatory: bool,
    pub(crate) properties: BasicProperties,
    pub(crate) payload: Bytes,
}

/// What the broker said of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Confirmed {
    /// It has it, in every queue that takes it.
    Taken,
    /// No queue takes it; only a mandatory message is told.
    Unroutable,
    /// A queue refused it, or could not keep it.
    Refused,
}

impl Outgoing {
    /// `message` on its own subject's route.
    pub(crate) fn of(
        message: &Message,
        session: &Session,
        operation: Operation,
    ) -> Result<Self, TransportError> {
        let AmqpRoute { exchange, key, mandatory, persistent } = AmqpRoute::of(message.subject());
        let key = ShortString::try_new(key).map_err(|error| {
            TransportError::new(ErrorKind::Invalid, operation)
                .about(message.subject())
                .detail(error.to_string())
        })?;
        let properties = convert::properties(message, &session.user, persistent);
        Ok(Self { exchange, key, mandatory, properties, payload: message.payload().clone() })
    }
}

/// Publishes one message to whoever listens now; returns when the broker has accepted it.
pub(crate) async fn live(
    link: &Arc<Link>,
    message: &Message,
    require_receiver: bool,
    due: Instant,
) -> Result<(), TransportError> {
    let under_way = link.accepted.begin();
    under_way.end(accepted(link, message, require_receiver, due).await)
}

async fn accepted(
    link: &Arc<Link>,
    message: &Message,
    require_receiver: bool,
    due: Instant,
) -> Result<(), TransportError> {
    const OPERATION: Operation = Operation::Publish;
    let session = link.session(OPERATION, due).await?;
    // Without a receiver it is no error here, whatever the subject (the port's contract).
    let outgoing =
        Outgoing { mandatory: require_receiver, ..Outgoing::of(message, &session, OPERATION)? };
    let about = |error: TransportError| error.about(message.subject());
    match session.publish(OPERATION, &outgoing, due).await.map_err(about)? {
        Confirmed::Taken => Ok(()),
        Confirmed::Unroutable => {
            Err(about(TransportError::new(ErrorKind::NoResponders, OPERATION)))
        }
        // A queue that is full keeps what it has; those that listen have heard it.
        Confirmed::Refused => Ok(()),
    }
}

impl Session {
    /// Publishes once; returns when the broker has confirmed it, or said why not.
    ///
    /// # Errors
    /// `Denied`, `NotFound` for an absent exchange, `TooLarge`, `Broker`, and without the broker's word
    /// `TimedOut` and `Disconnected`.
    pub(crate) async fn publish(
        &self,
        operation: Operation,
        outgoing: &Outgoing,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        let publishing = async {
            tokio::select! {
                sent = self.sent(operation, outgoing, due) => sent,
                why = self.over() => Err(lost(operation, why)),
            }
        };
        timeout_at(due, publishing).await.unwrap_or_else(|_| {
            let error = timed_out(operation);
            Err(match self.blocked() {
                Some(why) => error.detail(format!("the broker takes no messages for now: {why}")),
                None => error,
            })
        })
    }

    async fn sent(
        &self,
        operation: Operation,
        outgoing: &Outgoing,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        let channel = self.publishing.channel(operation, due).await?;
        let told = |error: lapin::Error| failed(&error, operation);
        channel.confirm_select(ConfirmSelectOptions::default()).await.map_err(told)?;
        let options = BasicPublishOptions { mandatory: outgoing.mandatory, ..Default::default() };
        let confirm = channel
            .basic_publish(
                outgoing.exchange.as_str().into(),
                outgoing.key.clone(),
                options,
                &outgoing.payload,
                outgoing.properties.clone(),
            )
            .await
            .map_err(told)?;
        match confirm.await.map_err(told)? {
            Confirmation::Ack(None) => Ok(Confirmed::Taken),
            Confirmation::Ack(Some(returned)) | Confirmation::Nack(Some(returned)) => {
                tracing::debug!(why = clipped(returned.reply_text.as_str()), "unroutable");
                Ok(Confirmed::Unroutable)
            }
            Confirmation::Nack(None) => Ok(Confirmed::Refused),
            Confirmation::NotRequested => Err(TransportError::new(ErrorKind::Broker, operation)
                .detail("the broker doesn't confirm on this channel")),
        }
    }
}
