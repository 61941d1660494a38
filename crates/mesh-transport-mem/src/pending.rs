use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use mesh_core::message::Message;
use mesh_core::port::TransportError;
use mesh_core::subject::Subject;
use mesh_core::topology::Account;
use tokio::sync::oneshot;

use crate::link::{Link, LinkId};
use crate::space::Space;

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
    account: Account,
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
    pub(crate) fn ask(&self, link: &Link, reply: Subject, since: Duration) -> Question<'_> {
        let (sender, answer) = oneshot::channel();
        let waiting = Waiting { link: link.id, account: link.account, since, answer: sender };
        self.waiting.insert(reply.clone(), waiting);
        Question { pending: self, reply, answer }
    }

    /// Since when somebody waits for an answer there.
    pub(crate) fn asked(&self, reply: &Subject) -> Option<Duration> {
        self.waiting.get(reply).map(|waiting| waiting.since)
    }

    /// Gives the answer that is sent from `space` to whoever waits for it there; says whether somebody did.
    pub(crate) fn answer(
        &self,
        space: Space,
        reply: &Subject,
        answer: Result<Message, TransportError>,
    ) -> bool {
        let there = |_: &Subject, waiting: &Waiting| space.reaches(waiting.account, reply);
        match self.waiting.remove_if(reply, there) {
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
            self.answer(Space::Whole, &reply, Err(error.clone()));
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
