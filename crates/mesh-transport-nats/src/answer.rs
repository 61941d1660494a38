//! Answering a call: the answer is handed to the client, and what the server says of it is told later.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use bytes::Bytes;
use mesh_core::message::{Headers, Message};
use mesh_core::port::{Answer, Call, ErrorKind, Operation, TransportError};
use mesh_core::subject::Subject;
use mesh_core::topology::ReplyAddress;
use mesh_session::Queue;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use crate::convert;
use crate::link::{Link, deadline};
use crate::pending::{OnItsWay, Waits};
use crate::port::Owner;
use crate::session::{Handing, Session};

const OPERATION: Operation = Operation::Answer;

/// An answer that is owed.
pub(crate) struct Owed {
    pub(crate) owner: Arc<Owner>,
    pub(crate) to: ReplyAddress,
    /// The same as the client has it.
    pub(crate) reply: async_nats::Subject,
    /// What was asked.
    pub(crate) asked: Subject,
    /// Where the call was read, and where its answer's loss is told. The queue holds calls, and so this.
    pub(crate) calls: Weak<Queue<Call>>,
}

#[async_trait]
impl Answer for Owed {
    async fn send(self: Box<Self>, headers: Headers, payload: Bytes) -> Result<(), TransportError> {
        let Self { owner, to, reply, asked, calls } = *self;
        let link = owner.link();
        let message = Message::new(to.subject().clone(), payload).with_headers(headers);
        link.check(&message, OPERATION)?;
        let message = convert::message_out(&message, &reply, None);
        let under_way = link.line.accepted().begin_unwatched();
        let (session, permit) = match Ready::now(link) {
            Some(ready) => ready,
            None => match Box::pin(Ready::later(link)).await {
                Ok(ready) => ready,
                Err(error) => return under_way.end(Err(error.about(&reply))),
            },
        };
        let answer = OnItsWay { to: reply.clone(), asked, calls, under_way, _permit: permit };
        match session.answer(answer, &reply, message)? {
            None => Ok(()),
            Some((handing, waits)) => Box::pin(hand(link, handing, waits)).await,
        }
    }
}

/// What an answer needs before it can be sent: a session, and a place among what is unproven there.
struct Ready;

impl Ready {
    fn now(link: &Link) -> Option<(Arc<Session>, OwnedSemaphorePermit)> {
        let session = link.line.session_now()?;
        let permit = session.permit_now()?;
        Some((session, permit))
    }

    async fn later(link: &Link) -> Result<(Arc<Session>, OwnedSemaphorePermit), TransportError> {
        let due = due(link);
        let session = link.line.session(OPERATION, due).await?;
        let permit = timeout_at(due, session.permit(OPERATION)).await;
        let permit = permit.map_err(|_| TransportError::new(ErrorKind::TimedOut, OPERATION))??;
        Ok((session, permit))
    }
}

/// Hands over what there was no room for.
async fn hand(link: &Link, handing: Handing<'_>, waits: Waits<'_>) -> Result<(), TransportError> {
    let handed = timeout_at(due(link), handing).await;
    match handed.unwrap_or_else(|_| Err(TransportError::new(ErrorKind::TimedOut, OPERATION))) {
        Ok(()) => {
            waits.handed_over();
            Ok(())
        }
        Err(error) => Err(waits.failed(error)),
    }
}

fn due(link: &Link) -> Instant {
    deadline(link.options.connect_timeout)
}
