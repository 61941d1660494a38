use std::time::Duration;

use async_nats::StatusCode;
use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::subject::Subject;

use super::Port;
use crate::api::Api;
use crate::link;
use crate::pending::{Kind, Outcome};
use crate::publish::{hand_over, lost};
use crate::session::{Op, denied};

#[async_trait]
impl Api for Port {
    async fn call(
        &self,
        operation: Operation,
        subject: &str,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Bytes, TransportError> {
        let link = self.link();
        let to = Subject::new(subject).map_err(|problem| {
            TransportError::new(ErrorKind::Invalid, operation).about(subject).caused_by(problem)
        })?;
        let question = Message::new(to, body);
        link.check(&question, operation)?;
        let due = link::deadline(timeout);
        let session = link.session(operation, due).await?;
        let subject = async_nats::Subject::from(subject);
        let key = rand::random();
        let reply = async_nats::Subject::from(session.inbox().confirmation(key).as_str());
        let op = Op {
            reply: Some(reply.clone()),
            answer: Some(key),
            ..Op::new(operation, Kind::Publish, &subject)
        };
        let send = || hand_over(&session, operation, &subject, Some(reply), &question, &[]);
        let silent = |detail| {
            let error = TransportError::new(ErrorKind::NoResponders, operation).about(&subject);
            Err(error.detail(detail))
        };
        match session.operate(op, due, send).await? {
            Outcome::Answer(answer) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
                silent("the server has no JetStream for this account")
            }
            Outcome::Answer(answer) => Ok(answer.payload),
            Outcome::Denied(words) => Err(denied(operation, &subject, words)),
            Outcome::Lost(cause) => Err(lost(operation, &subject, cause)),
            Outcome::Handled => silent("the server answered nothing"),
        }
    }
}
