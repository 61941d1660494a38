//! Questions with one answer, at a reply address that names both sides (protocol §4).

use std::sync::Arc;

use async_nats::StatusCode;
use mesh_core::identity::Responder;
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::time::Instant;

use crate::convert;
use crate::link::Link;
use crate::pending::{Kind, Outcome};
use crate::publish::{hand_over, lost};
use crate::session::{Op, denied};

/// Asks and waits for the first answer.
pub(crate) async fn ask(
    link: &Arc<Link>,
    responder: &Responder,
    message: &Message,
    due: Instant,
) -> Result<Message, TransportError> {
    let operation = Operation::Request;
    let session = link.session(operation, due).await?;
    let subject = async_nats::Subject::from(message.subject().as_str());
    let key = rand::random();
    let reply = async_nats::Subject::from(session.inbox().reply(responder, key).as_str());
    let op = Op {
        reply: Some(reply.clone()),
        answer: Some(key),
        ..Op::new(operation, Kind::Publish, &subject)
    };
    let send = || hand_over(&session, operation, &subject, Some(reply), message, &[]);
    match session.operate(op, due, send).await? {
        Outcome::Answer(answer) => {
            session.pending.learn(&subject);
            if answer.status == Some(StatusCode::NO_RESPONDERS) {
                return Err(TransportError::new(ErrorKind::NoResponders, operation).about(&subject));
            }
            convert::message_in(*answer, false).ok_or_else(|| {
                TransportError::new(ErrorKind::Broker, operation)
                    .about(&subject)
                    .detail("the answer is malformed")
            })
        }
        Outcome::Denied(words) => Err(denied(operation, &subject, words)),
        Outcome::Lost(error) => Err(lost(operation, &subject, error)),
        Outcome::Handled => Err(TransportError::new(ErrorKind::Broker, operation)
            .about(&subject)
            .detail("the server answered nothing")),
    }
}
