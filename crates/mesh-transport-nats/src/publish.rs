//! Live publishing: proven, so that a refusal fails the call that caused it.

use std::sync::Arc;

use async_nats::StatusCode;
use async_nats::message::OutboundMessage;
use bytes::Bytes;
use futures_util::FutureExt;
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

use crate::address::Branch;
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
///
/// The server answers at once, to the reply address, that nobody is there. That somebody is there it
/// says by saying nothing: so an echo follows, which comes after such an answer and on the same way.
pub(crate) async fn to_somebody(
    link: &Arc<Link>,
    message: Message,
    due: Instant,
) -> Result<(), TransportError> {
    let under_way = link.line.accepted().begin();
    under_way.end(received(link, message, due).await)
}

async fn received(link: &Arc<Link>, message: Message, due: Instant) -> Result<(), TransportError> {
    let operation = Operation::Publish;
    let session = link.line.session_for(operation, message.subject().as_str(), due).await?;
    let subject = async_nats::Subject::from(message.subject().as_str());
    let echoes = Branch::of(&session.inbox().echo(0));
    let (publish, asked) = Op::asking(operation, &subject, &echoes);
    let key = rand::random();
    let echo = echoes.address(key);
    let reply = Reply::Own(echoes);
    let echoing = Op { reply, key, asks: true, ..Op::new(operation, Kind::Publish, &echo) };
    // The echo is entered and sent inside the first operation, so it is behind it on the wire.
    let sent = tokio::sync::Notify::new();
    let message = convert::message_out(&message, &subject, Some(asked));
    let first = session.operate(publish, due, || {
        let handed = session.send(operation, &subject, message)?;
        Ok(Some(Box::pin(async {
            if let Some(handing) = handed {
                handing.await?;
            }
            sent.notify_one();
            Ok(())
        })))
    });
    let second = async {
        sent.notified().await;
        let empty = OutboundMessage {
            subject: echo.clone(),
            reply: None,
            payload: Bytes::new(),
            headers: None,
        };
        session.operate(echoing, due, || session.send(operation, &echo, empty)).await
    };
    tokio::pin!(first, second);
    tokio::select! {
        biased;
        outcome = &mut first => match outcome? {
            Outcome::Answer(answer) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
                Err(TransportError::new(ErrorKind::NoResponders, operation).about(&subject))
            }
            Outcome::Answer(_) | Outcome::Handled => Ok(()),
            Outcome::Denied(words) => Err(denied(operation, &subject, words)),
            Outcome::Lost(error) => Err(lost(operation, &subject, error)),
        },
        outcome = &mut second => match outcome? {
            Outcome::Denied(words) => Err(denied(operation, &echo, words)),
            Outcome::Lost(error) => Err(lost(operation, &subject, error)),
            Outcome::Answer(_) | Outcome::Handled => {
                // No answer came before the echo. A refusal would come by the other channel.
                session.handled(operation, due).await?;
                // Not counted as the task's work: one that has done much would find nothing.
                match unconstrained(first).now_or_never() {
                    Some(Ok(Outcome::Denied(words))) => Err(denied(operation, &subject, words)),
                    Some(Ok(Outcome::Lost(error))) => Err(lost(operation, &subject, error)),
                    Some(Err(error)) => Err(error),
                    _ => Ok(()),
                }
            }
        },
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
