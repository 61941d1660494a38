use std::sync::Arc;
use std::time::Duration;

use async_nats::StatusCode;
use async_nats::message::OutboundMessage;
use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::time::Instant;

use super::Owner;
use crate::api::Api;
use crate::link;
use crate::pending::Outcome;
use crate::publish::lost;
use crate::session::{Op, Session, denied};

/// The server's API, asked on this connection.
#[derive(Debug)]
pub(crate) struct LinkApi {
    pub(crate) owner: Arc<Owner>,
}

#[async_trait]
impl Api for LinkApi {
    async fn call(
        &self,
        operation: Operation,
        subject: &str,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Bytes, TransportError> {
        let link = self.owner.link();
        link.line.check_open(operation)?;
        let due = link::deadline(timeout);
        let session = link.line.session_for(operation, subject, due).await?;
        ask(&session, operation, subject, body, due).await
    }
}

/// Asks the server's API in this session.
pub(crate) async fn ask(
    session: &Session,
    operation: Operation,
    subject: &str,
    body: Vec<u8>,
    due: Instant,
) -> Result<Bytes, TransportError> {
    let (subject, known) = session.subject(subject);
    let (op, reply) = Op::asking(operation, &subject, &session.confirmations);
    let op = Op { known, ..op };
    let question = OutboundMessage {
        subject: subject.clone(),
        reply: Some(reply),
        payload: body.into(),
        headers: None,
    };
    let hand = || session.send(operation, &subject, question);
    match session.operate(op, due, hand).await? {
        Outcome::Answer(answer) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
            Err(no_streams(session, operation).about(&subject))
        }
        Outcome::Answer(answer) => Ok(answer.payload),
        Outcome::Denied(words) => Err(denied(operation, &subject, words)),
        Outcome::Lost(error) => Err(lost(operation, &subject, error)),
        Outcome::Handled => Err(TransportError::new(ErrorKind::Broker, operation)
            .about(&subject)
            .detail("the server answered nothing")),
    }
}

/// Nobody answers the server's API. Where this server has it, that may pass.
fn no_streams(session: &Session, operation: Operation) -> TransportError {
    if session.client.server_info().jetstream {
        return TransportError::new(ErrorKind::NoResponders, operation)
            .detail("JetStream does not answer now");
    }
    TransportError::new(ErrorKind::Unsupported, operation)
        .detail("JetStream is off on this server, and nobody beside it has it for this account")
}
