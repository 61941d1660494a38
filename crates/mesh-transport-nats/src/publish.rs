//! Live publishing: proven, so that a refusal fails the call that caused it.

use std::sync::Arc;

use async_nats::StatusCode;
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::time::Instant;

use crate::convert;
use crate::link::Link;
use crate::pending::{Kind, Outcome, Reply};
use crate::session::{Op, denied, disconnected};

/// Publishes `message` and returns when the server has handled it.
pub(crate) async fn live(
    link: &Arc<Link>,
    message: Message,
    due: Instant,
) -> Result<(), TransportError> {
    let under_way = link.line.accepted().begin();
    under_way.end(proven(link, message, due).await)
}

async fn proven(link: &Arc<Link>, message: Message, due: Instant) -> Result<(), TransportError> {
    let operation = Operation::Publish;
    let session = link.line.session_for(operation, message.subject().as_str(), due).await?;
    let subject = async_nats::Subject::from(message.subject().as_str());
    let reply = message.reply().map(|reply| async_nats::Subject::from(reply.as_str()));
    let named = reply.clone().map_or(Reply::None, |reply| Reply::Given(Box::new(reply)));
    let op = Op { reply: named, ..Op::new(operation, Kind::Publish, &subject) };
    let message = convert::message_out(&message, &subject, reply);
    let hand = || session.send(operation, &subject, message);
    match session.operate(op, due, hand).await? {
        Outcome::Denied(words) => Err(denied(operation, &subject, words)),
        Outcome::Lost(error) => Err(lost(operation, &subject, error)),
        Outcome::Handled | Outcome::Answer(_) => Ok(()),
    }
}

/// Publishes `message`, and fails with `NoResponders` if nobody hears it.
pub(crate) async fn to_somebody(
    link: &Arc<Link>,
    message: Message,
    due: Instant,
) -> Result<(), TransportError> {
    let under_way = link.line.accepted().begin();
    under_way.end(heard(link, message, due).await)
}

async fn heard(link: &Arc<Link>, message: Message, due: Instant) -> Result<(), TransportError> {
    let operation = Operation::Publish;
    let session = link.line.session_for(operation, message.subject().as_str(), due).await?;
    let subject = async_nats::Subject::from(message.subject().as_str());
    let (op, asked) = Op::asking(operation, &subject, session.echoes());
    let message = convert::message_out(&message, &subject, Some(asked));
    let op = Op { heard: true, ..op };
    match session.operate(op, due, || session.send(operation, &subject, message)).await? {
        Outcome::Answer(answer) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
            Err(TransportError::new(ErrorKind::NoResponders, operation).about(&subject))
        }
        Outcome::Denied(words) => Err(denied(operation, &subject, words)),
        Outcome::Lost(error) => Err(lost(operation, &subject, error)),
        Outcome::Answer(_) | Outcome::Handled => Ok(()),
    }
}

/// The error of an operation whose session ended under it.
pub(crate) fn lost(operation: Operation, subject: &str, cause: TransportError) -> TransportError {
    if cause.kind() == ErrorKind::Closed {
        return crate::link::closed(operation).about(subject);
    }
    disconnected(operation)
        .about(subject)
        .detail("the connection was lost before the server's answer")
        .caused_by(cause)
}
