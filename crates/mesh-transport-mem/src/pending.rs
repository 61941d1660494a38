use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use mesh_core::message::Message;
use mesh_core::port::TransportError;
use mesh_core::subject::Subject;
use tokio::sync::oneshot;

use crate::link::LinkId;

/// The questions that wait for an answer, by reply address.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    waiting: DashMap<Subject, Waiting>,
    late: AtomicU64,
    lost: AtomicU64,
}

#[derive(Debug)]
struct Waiting {
    link: LinkId,
    since: Duration,
    answer: oneshot::Sender<Result<Message, TransportError>>,
}

/// One question; forgotten when it is dropped.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pending: &'a Pending,
    reply: Subject,
    pub(crate) answer: oneshot::Receiver<Result<Message, TransportError>>,
}

impl Pending {
    pub(crate) fn ask(&self, link: LinkId, reply: Subject, since: Duration) -> Question<'_> {
        let (sender, answer) = oneshot::channel();
        let waiting = Waiting { link, since, answer: sender };
        self.waiting.insert(reply.clone(), waiting);
        Question { pending: self, reply, answer }
    }

    /// Since when somebody waits for an answer there.
    pub(crate) fn asked(&self, reply: &Subject) -> Option<Duration> {
        self.waiting.get(reply).map(|waiting| waiting.since)
    }

    /// Gives the answer to whoever waits for it; says whether somebody did.
    pub(crate) fn answer(&self, reply: &Subject, answer: Result<Message, TransportError>) -> bool {
        match self.waiting.remove(reply) {
            Some((_, waiting)) => waiting.answer.send(answer).is_ok(),
            None => false,
        }
    }

    /// Fails the questions of a connection that is over.
    pub(crate) fn fail_all(&self, link: LinkId, error: &TransportError) {
        let theirs: Vec<Subject> = self
            .waiting
            .iter()
            .filter(|waiting| waiting.link == link)
            .map(|waiting| waiting.key().clone())
            .collect();
        for reply in theirs {
            self.answer(&reply, Err(error.clone()));
        }
    }

    /// Notes an answer that nobody waits for any more.
    pub(crate) fn note_late(&self) {
        self.late.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes an answer that did not reach its caller.
    pub(crate) fn note_lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.pending.waiting.remove(&self.reply);
    }
}
