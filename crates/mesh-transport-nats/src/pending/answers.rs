//! Answers that are on their way: nobody waits for them, and no probe is sent for each. A refusal is told
//! to who reads the calls. After some answers, and after a while, a probe proves them all, so that no more
//! refusals come at once than the client has room for.

use std::sync::{Arc, Weak};

use async_nats::Subject;
use mesh_core::port::{Call, Operation, ReceiveError, TransportError};
use mesh_session::{Accepted, Queue, UnderWay};
use tokio::sync::OwnedSemaphorePermit;

use super::Pending;
use crate::events::Denial;
use crate::session::{Handed, Handing, denied, disconnected};

/// So many are proven at a time.
const MANY: usize = 40;
/// The index of one that the client does not have yet.
const WAITS: u64 = u64::MAX;

/// One of them.
pub(crate) struct OnItsWay {
    /// The reply address.
    pub(crate) to: Subject,
    /// What was asked.
    pub(crate) asked: mesh_core::subject::Subject,
    /// Where the call was read.
    pub(crate) calls: Weak<Queue<Call>>,
    pub(crate) under_way: UnderWay<Arc<Accepted>>,
    pub(crate) _permit: OwnedSemaphorePermit,
}

#[derive(Default)]
pub(super) struct Answers(Vec<Sent>);

struct Sent {
    /// Among all that was handed to the client.
    index: u64,
    answer: OnItsWay,
}

/// An answer that the client has no room for yet. Dropped, it was never sent.
pub(crate) struct Waits<'a> {
    pending: &'a Pending,
    to: Subject,
}

impl Answers {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn are_many(&self) -> bool {
        self.0.len() >= MANY
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The server has handled what was sent up to there.
    pub(super) fn proven(&mut self, covers: u64) {
        for sent in self.0.extract_if(.., |sent| sent.index <= covers) {
            let _ = sent.answer.under_way.end(Ok(()));
        }
    }

    /// The session is over, for this reason.
    pub(super) fn lost(&mut self, error: &TransportError) {
        for sent in self.0.drain(..) {
            let _ = sent.answer.under_way.end(Err::<(), _>(error.clone()));
        }
    }

    fn take(&mut self, to: &str) -> Option<OnItsWay> {
        let place = self.0.iter().position(|sent| sent.answer.to.as_str() == to)?;
        Some(self.0.remove(place).answer)
    }
}

impl Pending {
    /// Enters an answer and hands it to the client with `hand`. Where that has no room, it is to be
    /// [handed over](Waits::handed_over) later.
    pub(crate) fn answering<'a>(
        &'a self,
        answer: OnItsWay,
        hand: impl FnOnce() -> Handed<'a>,
    ) -> Result<Option<(Handing<'a>, Waits<'a>)>, TransportError> {
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return Err(answer.failed(disconnected(Operation::Answer)));
        }
        // Under the lock: no probe comes between this and the number that it is given.
        match hand() {
            Ok(None) => {}
            Ok(Some(handing)) => {
                let to = answer.to.clone();
                state.answers.0.push(Sent { index: WAITS, answer });
                return Ok(Some((handing, Waits { pending: self, to })));
            }
            Err(error) => return Err(answer.failed(error)),
        }
        state.sent += 1;
        let index = state.sent;
        state.answers.0.push(Sent { index, answer });
        self.want(&state);
        Ok(None)
    }

    /// The answer that the server refused, if it was one.
    pub(crate) fn refused_answer(&self, denial: &Denial<'_>) -> Option<OnItsWay> {
        let Denial::Publish(subject) = denial else { return None };
        self.state.lock().answers.take(subject)
    }
}

impl Waits<'_> {
    /// The client has it.
    pub(crate) fn handed_over(self) {
        let mut state = self.pending.state.lock();
        state.sent += 1;
        let index = state.sent;
        let own = |sent: &&mut Sent| sent.index == WAITS && sent.answer.to == self.to;
        if let Some(sent) = state.answers.0.iter_mut().find(own) {
            sent.index = index;
        }
        self.pending.want(&state);
    }

    /// It does not get it, for this reason.
    pub(crate) fn failed(self, error: TransportError) -> TransportError {
        match self.take() {
            Some(answer) => answer.failed(error),
            None => error,
        }
    }

    fn take(&self) -> Option<OnItsWay> {
        let answers = &mut self.pending.state.lock().answers.0;
        let own = |sent: &Sent| sent.index == WAITS && sent.answer.to == self.to;
        let place = answers.iter().position(own)?;
        Some(answers.remove(place).answer)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl OnItsWay {
    /// Notes that it was not sent, for this reason.
    fn failed(self, error: TransportError) -> TransportError {
        let error = error.about(&self.to);
        let _ = self.under_way.end(Err::<(), _>(error.clone()));
        error
    }

    /// Tells that the server refused it, in these words.
    pub(crate) fn refused(self, words: &str) {
        let Self { to, asked, calls, .. } = self;
        let error = denied(Operation::Answer, &to, words.to_owned());
        tracing::warn!(subject = %asked, %error, "an answer did not reach its caller");
        if let Some(calls) = calls.upgrade() {
            calls.tell(ReceiveError::AnswerLost { subject: asked, error });
        }
    }
}
