//! Questions with one answer, and those who answer (protocol §6 and §7).

mod look;
mod replies;
mod scout;
mod serve;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use lapin::types::ShortString;
use mesh_core::identity::Responder;
use mesh_core::message::Message;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::subject::Subject;
use mesh_core::topology::MeshSubject;
use tokio::time::Instant;

use crate::convert;
use crate::link::Link;
use crate::publish::{Confirmed, Outgoing};
use crate::session::Session;

use look::Looks;
use replies::Answers;
pub(crate) use serve::serve;

const OPERATION: Operation = Operation::Request;

/// What a session asks with.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    answers: Answers,
    looks: Looks,
}

impl Asking {
    /// The session is over.
    pub(crate) fn end(&self) {
        self.looks.end();
    }
}

/// The longest that the broker keeps anything, in milliseconds.
const LONGEST: u128 = u32::MAX as u128 - 1;

/// Asks, and waits for the first answer of who is asked.
pub(crate) async fn ask(
    link: &Arc<Link>,
    responder: &Responder,
    message: &Message,
    due: Instant,
) -> Result<Message, TransportError> {
    let about = |error: TransportError| error.about(message.subject());
    let session = link.line.session(OPERATION, due).await.map_err(about)?;
    let answer = answer(link, &session, responder, message, due);
    session.in_time(OPERATION, due, answer).await.map_err(about)
}

async fn answer(
    link: &Arc<Link>,
    session: &Arc<Session>,
    responder: &Responder,
    message: &Message,
    due: Instant,
) -> Result<Message, TransportError> {
    let route = link.routes.of(message.subject(), OPERATION)?;
    if let Some(queue) = route.tool() {
        // A queue that is there and that nobody reads would keep the question until somebody does. One
        // that is absent gives it back.
        if session.asking.looks.readers(session, queue, due).await? == Some(0) {
            let outgoing = Outgoing::on(&route, message, session);
            Box::pin(look::permitted(session, &route, outgoing, due)).await?;
            return Err(nobody());
        }
    }
    let replies = session.asking.answers.open(link, session, due).await?;
    let expected = replies.expect(responder);
    let made = || {
        let mut outgoing = Outgoing::on(&route, message, session).mandatory_as(expected.id());
        let left = due.saturating_duration_since(Instant::now()).as_millis().clamp(1, LONGEST);
        outgoing.properties = outgoing
            .properties
            .with_reply_to(replies.address().clone())
            .with_expiration(ShortString::from(left.to_string()));
        outgoing
    };
    match session.publish_question(&route, made, due).await? {
        Confirmed::Taken => {}
        Confirmed::Unroutable => return Err(nobody()),
        Confirmed::Refused => {
            return Err(TransportError::new(ErrorKind::Full, OPERATION)
                .detail("the queue of those who answer refused it"));
        }
    }
    let delivery = expected.answer().await?;
    let malformed =
        || TransportError::new(ErrorKind::Broker, OPERATION).detail("the answer is malformed");
    let subject = Subject::new(replies.address().as_str()).map_err(|_| malformed())?;
    convert::message_in(subject, &delivery.properties, delivery.data, false).ok_or_else(malformed)
}

/// The queue of those who answer there, where it has a name that everybody knows.
fn queue_of(subject: &Subject) -> Option<ShortString> {
    match MeshSubject::parse(subject) {
        Ok(tool @ MeshSubject::Tool { .. }) => ShortString::try_new(tool.to_amqp().key).ok(),
        _ => None,
    }
}

fn nobody() -> TransportError {
    TransportError::new(ErrorKind::NoResponders, OPERATION)
}
