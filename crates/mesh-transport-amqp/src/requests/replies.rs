//! The queue that answers come to, and who waits for which.

use std::sync::Arc;

use futures_util::StreamExt;
use lapin::message::Delivery;
use lapin::types::ShortString;
use mesh_core::identity::{Principal, Responder};
use mesh_core::port::{ErrorKind, TransportError};
use mesh_session::Session as _;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::OPERATION;
use crate::correlation::CorrelationId;
use crate::counters::{Counters, count};
use crate::error::lost;
use crate::kept::{Kept, Lasts};
use crate::link::{Link, runtime_ended};
use crate::live::{Place, Spot};
use crate::session::Session;

/// The queue of a session's answers, from the first question on, which is read from then on.
#[derive(Debug, Default)]
pub(super) struct Answers(Kept<Replies>);

impl Answers {
    pub(super) async fn open(
        &self,
        link: &Link,
        session: &Arc<Session>,
        due: Instant,
    ) -> Result<Arc<Replies>, TransportError> {
        let open = || async {
            let spot = Place::of_answers().take(Arc::clone(session), due).await?;
            let replies = Arc::new(Replies {
                address: spot.queue.clone(),
                waiting: Mutex::default(),
                counters: link.counters.clone(),
            });
            // Not where the first question was asked: that runtime may end before this one does.
            link.line.runtime().spawn(read(spot, End(Arc::clone(&replies))));
            Ok(replies)
        };
        self.0.or_made(OPERATION, due, open).await
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Replies {
    address: ShortString,
    waiting: Mutex<Waiting>,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Waiting {
    questions: FxHashMap<CorrelationId, Question>,
    over: Option<TransportError>,
}

#[derive(Debug)]
struct Question {
    responder: Responder,
    sender: oneshot::Sender<Result<Delivery, TransportError>>,
}

impl Lasts for Replies {
    fn lasts(&self) -> bool {
        self.waiting.lock().over.is_none()
    }
}

/// One who waits for an answer. Dropped, it doesn't.
pub(super) struct Expected<'a> {
    replies: &'a Replies,
    id: CorrelationId,
    answer: oneshot::Receiver<Result<Delivery, TransportError>>,
}

impl Replies {
    /// Where answers are to go.
    pub(super) fn address(&self) -> &ShortString {
        &self.address
    }

    /// Waits for an answer of `responder`, under an id that nobody can guess.
    pub(super) fn expect(&self, responder: &Responder) -> Expected<'_> {
        let (sender, answer) = oneshot::channel();
        let id = CorrelationId::random();
        let mut waiting = self.waiting.lock();
        match &waiting.over {
            Some(error) => {
                let _ = sender.send(Err(error.clone()));
            }
            None => {
                let question = Question { responder: responder.clone(), sender };
                waiting.questions.insert(id, question);
            }
        }
        Expected { replies: self, id, answer }
    }

    /// Hands an answer to who waits for it. That of anybody but who was asked is none.
    fn take(&self, delivery: Delivery) {
        let properties = &delivery.properties;
        let id = properties
            .correlation_id()
            .as_ref()
            .and_then(|id| CorrelationId::read(id.as_str().as_bytes()));
        let user = properties.user_id().as_ref();
        let sender = user.and_then(|user| Principal::from_amqp_user(user.as_str()));
        let mut waiting = self.waiting.lock();
        let Some((id, question)) = id.and_then(|id| Some((id, waiting.questions.get(&id)?))) else {
            drop(waiting);
            return count(&self.counters.late);
        };
        if sender.and_then(|sender| sender.responder()).as_ref() != Some(&question.responder) {
            drop(waiting);
            tracing::warn!(user = user.map(ShortString::as_str), "an answer of a stranger");
            return count(&self.counters.refused);
        }
        if let Some(question) = waiting.questions.remove(&id) {
            drop(waiting);
            // Whoever waited may be gone just now.
            if question.sender.send(Ok(delivery)).is_err() {
                count(&self.counters.late);
            }
        }
    }

    /// Nothing more comes here.
    fn end(&self, error: &TransportError) {
        let mut waiting = self.waiting.lock();
        waiting.over.get_or_insert_with(|| error.clone());
        for (_, question) in waiting.questions.drain() {
            let _ = question.sender.send(Err(error.clone()));
        }
    }
}

impl Expected<'_> {
    /// The id, as the answer must bring it.
    pub(super) fn id(&self) -> CorrelationId {
        self.id
    }

    /// The answer.
    pub(super) async fn answer(mut self) -> Result<Delivery, TransportError> {
        match (&mut self.answer).await {
            Ok(answer) => answer,
            Err(_) => Err(runtime_ended(OPERATION)),
        }
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        self.replies.waiting.lock().questions.remove(&self.id);
    }
}

/// Nobody reads them any more. A runtime that ends drops it too.
struct End(Arc<Replies>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end(&runtime_ended(OPERATION));
    }
}

/// Reads the queue until the session or the queue is gone.
async fn read(mut spot: Spot, end: End) {
    let replies = &end.0;
    let session = Arc::clone(&spot.session);
    let mut over = std::pin::pin!(session.over());
    let error = loop {
        tokio::select! {
            biased;
            next = spot.consumer.next() => match next {
                Some(Ok(delivery)) => replies.take(delivery),
                _ if session.stands() => {
                    tracing::warn!(queue = %spot.queue, "the queue of the answers is gone, or the connection");
                    break TransportError::new(ErrorKind::Disconnected, OPERATION)
                        .detail("the queue of the answers is gone, or the connection");
                }
                _ => break lost(OPERATION, session.why()),
            },
            why = &mut over => break lost(OPERATION, why),
        }
    };
    replies.end(&error);
}
