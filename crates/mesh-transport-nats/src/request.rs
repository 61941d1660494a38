//! Questions with one answer, at a reply address that names both sides (protocol §4).

use std::sync::Arc;

use async_nats::StatusCode;
use mesh_core::identity::Responder;
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::time::Instant;

use crate::convert::{self, Recent};
use crate::link::Link;
use crate::pending::Outcome;
use crate::publish::lost;
use crate::session::{Op, denied};

/// Asks and waits for the first answer.
pub(crate) async fn ask(
    link: &Arc<Link>,
    responder: &Responder,
    message: &Message,
    due: Instant,
) -> Result<Message, TransportError> {
    let operation = Operation::Request;
    let session = link.line.session_for(operation, message.subject().as_str(), due).await?;
    let (subject, known) = session.subject(message.subject().as_str());
    let (op, reply) = Op::asking(operation, &subject, &session.replies(responder));
    let op = Op { known, ..op };
    let message = convert::message_out(message, &subject, Some(reply));
    let hand = || session.send(operation, &subject, message);
    match session.operate(op, due, hand).await? {
        Outcome::Answer(answer) => {
            if !known {
                session.pending.learn(&subject);
            }
            if answer.status == Some(StatusCode::NO_RESPONDERS) {
                return Err(TransportError::new(ErrorKind::NoResponders, operation).about(&subject));
            }
            convert::message_in(answer, false, &mut Recent::default()).map_err(|_| {
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
