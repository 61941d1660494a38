//! Live publishing: proven, so that a refusal fails the call that caused it.

use std::sync::Arc;

use async_nats::StatusCode;
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::time::Instant;

use crate::link::Link;
use crate::pending::{Kind, Outcome};
use crate::session::{Op, Session, denied, disconnected};
use crate::{convert, error};

/// Publishes `message` and returns when the server has handled it.
pub(crate) async fn live(
    link: &Arc<Link>,
    operation: Operation,
    message: Message,
    due: Instant,
) -> Result<(), TransportError> {
    let under_way = link.accepted.begin();
    under_way.end(proven(link, operation, message, due).await)
}

async fn proven(
    link: &Arc<Link>,
    operation: Operation,
    message: Message,
    due: Instant,
) -> Result<(), TransportError> {
    let session = link.session(operation, due).await?;
    let subject = async_nats::Subject::from(message.subject().as_str());
    let reply = message.reply().map(|reply| async_nats::Subject::from(reply.as_str()));
    let op = Op { reply: reply.clone(), ..Op::new(operation, Kind::Publish, &subject) };
    let send = || hand_over(&session, operation, &subject, reply, &message, &[]);
    match session.operate(op, due, send).await? {
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
    let under_way = link.accepted.begin();
    under_way.end(received(link, message, due).await)
}

async fn received(link: &Arc<Link>, message: Message, due: Instant) -> Result<(), TransportError> {
    let operation = Operation::Publish;
    let session = link.session(operation, due).await?;
    let subject = async_nats::Subject::from(message.subject().as_str());
    let (asked, key) = echo_address(&session);
    let (echo, echo_key) = echo_address(&session);
    let publish = Op {
        reply: Some(asked.clone()),
        answer: Some(key),
        ..Op::new(operation, Kind::Publish, &subject)
    };
    let echoing = Op {
        reply: Some(echo.clone()),
        answer: Some(echo_key),
        ..Op::new(operation, Kind::Publish, &echo)
    };
    // The echo is entered and sent inside the first operation, so it is behind it on the wire.
    let sent = tokio::sync::Notify::new();
    let first = session.operate(publish, due, || async {
        hand_over(&session, operation, &subject, Some(asked), &message, &[]).await?;
        sent.notify_one();
        Ok(())
    });
    let second = async {
        sent.notified().await;
        let empty = bytes::Bytes::new();
        session
            .operate(echoing, due, || async {
                let published = session.client.publish(echo.clone(), empty).await;
                published.map_err(|e| error::publish_error(e, operation, &echo))
            })
            .await
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
                match futures_util::FutureExt::now_or_never(first) {
                    Some(Ok(Outcome::Denied(words))) => Err(denied(operation, &subject, words)),
                    Some(Ok(Outcome::Lost(error))) => Err(lost(operation, &subject, error)),
                    Some(Err(error)) => Err(error),
                    _ => Ok(()),
                }
            }
        },
    }
}

fn echo_address(session: &Session) -> (async_nats::Subject, u128) {
    let key = rand::random();
    (async_nats::Subject::from(session.inbox().echo(key).as_str()), key)
}

/// Gives a message to the client.
pub(crate) async fn hand_over(
    session: &Session,
    operation: Operation,
    subject: &async_nats::Subject,
    reply: Option<async_nats::Subject>,
    message: &Message,
    own: &[(&'static str, &str)],
) -> Result<(), TransportError> {
    let client = &session.client;
    let (subject_out, payload) = (subject.clone(), message.payload().clone());
    let headers = convert::headers_out(message.headers(), own);
    let sent = match (reply, headers) {
        (None, None) => client.publish(subject_out, payload).await,
        (None, Some(headers)) => client.publish_with_headers(subject_out, headers, payload).await,
        (Some(reply), None) => client.publish_with_reply(subject_out, reply, payload).await,
        (Some(reply), Some(headers)) => {
            client.publish_with_reply_and_headers(subject_out, reply, headers, payload).await
        }
    };
    sent.map_err(|e| error::publish_error(e, operation, subject))
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
