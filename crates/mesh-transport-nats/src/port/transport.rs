use std::sync::Arc;
use std::time::Duration;

use async_nats::StatusCode;
use async_trait::async_trait;
use mesh_core::message::Message;
use mesh_core::port::{
    Capabilities, CloseReport, ConnectionStates, ErrorKind, Incoming, Operation, PublishOptions,
    ReceiveError, RefusalReason, SubscribeOptions, Subscription, Transport, TransportError,
};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::Inbox;
use mesh_session::Queue;
use tokio::time::timeout_at;

use super::Port;
use crate::convert::{self, Recent};
use crate::live::{self, Place};
use crate::{close, link, publish};

#[async_trait]
impl Transport for Port {
    fn capabilities(&self) -> &Capabilities {
        &self.link().capabilities
    }

    fn states(&self) -> ConnectionStates {
        self.link().line.states()
    }

    async fn publish(
        &self,
        message: Message,
        options: PublishOptions,
    ) -> Result<(), TransportError> {
        let link = self.link();
        link.check(&message, Operation::Publish)?;
        options.check(&message).map_err(|problem| {
            TransportError::of_message(problem, Operation::Publish, message.subject().as_str())
        })?;
        let due = link::deadline(options.timeout);
        if options.require_receiver {
            publish::to_somebody(link, message, due).await
        } else {
            publish::live(link, message, due).await
        }
    }

    async fn subscribe(
        &self,
        filter: Filter,
        options: SubscribeOptions,
    ) -> Result<Subscription, TransportError> {
        let place = Place {
            operation: Operation::Subscribe,
            filter: filter.as_str().to_owned(),
            group: options.group.map(|group| group.as_str().to_owned()),
        };
        let due = link::deadline(options.timeout);
        let mut recent = Recent::of(&filter);
        let admit = Box::new(move |message: async_nats::Message| {
            if is_servers(&message) {
                return None;
            }
            let message = convert::message_in(message, true, &mut recent).map(without_ours);
            Some(message.map_err(|subject| malformed(&subject)))
        });
        let queue = Arc::new(Queue::new(options.buffer.get()));
        let arrivals = live::listen(&self.owner, place, queue, due, admit).await?;
        Ok(Incoming::new(arrivals))
    }

    async fn flush(&self, timeout: Duration) -> Result<(), TransportError> {
        let link = self.link();
        link.line.check_open(Operation::Flush)?;
        let due = link::deadline(timeout);
        // Subscriptions that were dropped before are to be over.
        if timeout_at(due, link.line.places().left()).await.is_err() {
            return Err(TransportError::new(ErrorKind::TimedOut, Operation::Flush));
        }
        let session = link.line.session(Operation::Flush, due).await?;
        session.handled(Operation::Flush, due).await?;
        for reading in link.readings() {
            reading.confirm(&session, Operation::Flush, due).await?;
        }
        Ok(())
    }

    async fn close(&self, timeout: Duration) -> CloseReport {
        close::close(self.link(), link::deadline(timeout)).await
    }
}

/// Whether it is what the server says at the reply address of a message that nobody received, rather than
/// anything that somebody published.
fn is_servers(message: &async_nats::Message) -> bool {
    message.status == Some(StatusCode::NO_RESPONDERS) && message.payload.is_empty()
}

/// Takes off a reply address that the sender did not give, and that nobody may answer to: where the
/// sender's transport waits for the server's word, or what a server makes of that between two accounts.
fn without_ours(message: Message) -> Message {
    let ours = |reply: &Subject| Inbox::is_transports(reply) || reply.as_str().starts_with("_R_.");
    if !message.reply().is_some_and(ours) {
        return message;
    }
    let mut parts = message.into_parts();
    parts.reply = None;
    parts.into()
}

/// The word about a message that the ports can't represent.
pub(crate) fn malformed(subject: &str) -> ReceiveError {
    match Subject::new(subject).ok() {
        Some(subject) => ReceiveError::Refused { subject, reason: RefusalReason::Malformed },
        None => ReceiveError::Lagged { lost: 1 },
    }
}
