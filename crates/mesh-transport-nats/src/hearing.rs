//! What the client says outside any call: the server's `-ERR`, and the end of the connection.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_nats::{Event, ServerError, Subject};
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::topology::Inbox;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::address::{self, Branch};
use crate::counters::{Counters, count};
use crate::events::{Denial, Notice};
use crate::pending::{Key, Pending};

/// What is known of one session from outside its calls.
#[derive(Debug)]
pub(crate) struct Hearing {
    pub(crate) pending: Arc<Pending>,
    pub(crate) counters: Counters,
    /// What probes subscribe to.
    pub(crate) probe: Subject,
    /// What marked ones publish to, below a number.
    probe_message: String,
    /// Where echoes come.
    pub(crate) echoes: Branch,
    lost: watch::Sender<bool>,
    /// Why it ended, where that is known: what the server said last, or why it was given up.
    words: Mutex<Option<String>>,
    revoked: watch::Sender<Revocations>,
    /// How often the client threw away what a subscription had no room for.
    overflows: watch::Sender<u64>,
    /// Whether the server has said that it retires.
    retires: AtomicBool,
}

/// A reply address that the server lets nobody use.
const RESERVED: &str = "_R_.probe";

/// A marked probe.
pub(crate) struct Marked {
    pub(crate) subject: Subject,
    pub(crate) reply: Subject,
}

/// The subscriptions that the server ended, each under a number that rises, newest last. Only the latest
/// of one filter and group is kept, and no more than [`Revocations::MOST`].
#[derive(Debug, Default)]
struct Revocations {
    count: u64,
    list: VecDeque<Revoked>,
}

#[derive(Debug)]
struct Revoked {
    number: u64,
    filter: String,
    group: Option<String>,
    words: String,
}

impl Revocations {
    const MOST: usize = 4096;

    fn add(&mut self, filter: String, group: Option<String>, words: String) {
        self.count += 1;
        self.list.retain(|other| other.filter != filter || other.group != group);
        if self.list.len() == Self::MOST {
            self.list.pop_front();
        }
        self.list.push_back(Revoked { number: self.count, filter, group, words });
    }

    /// The words about this subscription, if it was ended after that many others.
    fn find(&self, filter: &str, group: Option<&str>, since: u64) -> Option<&str> {
        let found = self.list.iter().find(|revoked| {
            // The server names the group only where the right was one of the group's.
            let of_group = revoked.group.is_none() || revoked.group.as_deref() == group;
            revoked.number > since && revoked.filter == filter && of_group
        });
        found.map(|revoked| revoked.words.as_str())
    }
}

impl Hearing {
    pub(crate) fn new(counters: Counters, inbox: &Inbox) -> Arc<Self> {
        Arc::new(Self {
            pending: Arc::default(),
            counters,
            probe: Subject::from(format!("{inbox}.>.probe")),
            probe_message: format!("{inbox}.probe"),
            echoes: Branch::of(&inbox.echo(0)),
            lost: watch::Sender::new(false),
            words: Mutex::default(),
            revoked: watch::Sender::default(),
            overflows: watch::Sender::default(),
            retires: AtomicBool::new(false),
        })
    }

    /// Takes a word of the client.
    pub(crate) fn hear(&self, event: &Event) {
        match event {
            Event::ServerError(ServerError::Other(words)) => self.server_says(words),
            Event::ServerError(error @ ServerError::AuthorizationViolation) => {
                *self.words.lock() = Some(format!("the server says {:?}", error.to_string()));
            }
            Event::Disconnected | Event::Closed => self.end(),
            Event::LameDuckMode => {
                tracing::info!("the server retires");
                self.retires.store(true, Ordering::Relaxed);
            }
            Event::SlowConsumer(_) => self.overflows.send_modify(|count| *count += 1),
            other => tracing::debug!(event = %other, "of the client"),
        }
    }

    /// The connection is lost, or given up: nothing that waits will be answered.
    pub(crate) fn end(&self) {
        self.pending.end(&self.lost_error());
        self.lost.send_replace(true);
    }

    /// Gives the connection up, unless it is lost already, for this reason.
    pub(crate) fn give_up(&self, why: impl Into<String>) {
        if !self.is_lost() {
            self.words.lock().get_or_insert_with(|| why.into());
        }
        self.end();
    }

    /// The error of a connection that is lost, with the reason if there is one.
    pub(crate) fn lost_error(&self) -> TransportError {
        let error = TransportError::new(ErrorKind::Disconnected, Operation::Connect);
        match &*self.words.lock() {
            Some(words) => error.detail(format!("the connection was lost: {words}")),
            None => error.detail("the connection was lost"),
        }
    }

    /// Whether it is lost.
    pub(crate) fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }

    /// Returns when it is lost.
    pub(crate) async fn lost(&self) {
        let _ = self.lost.subscribe().wait_for(|lost| *lost).await;
    }

    /// Whether the server has said that it retires: its streams are at their end, and its connections
    /// will be.
    pub(crate) fn retires(&self) -> bool {
        self.retires.load(Ordering::Relaxed)
    }

    fn server_says(&self, words: &str) {
        let denial = match Notice::parse(words) {
            Notice::InvalidSubject => return self.pending.probed(),
            Notice::Denied(denial) => denial,
            Notice::MaximumSubscriptions => {
                tracing::warn!(%words, "a subscription may have been refused");
                return self.pending.full();
            }
            _ => {
                *self.words.lock() = Some(format!("the server says {words:?}"));
                return tracing::warn!(%words, "the server complains");
            }
        };
        if let Some(number) = self.mark(&denial) {
            return self.pending.mark_probed(number);
        }
        if let Some(key) = self.echo(&denial)
            && self.pending.echo_refused(key, words)
        {
            return;
        }
        if let Some(answer) = self.pending.refused_answer(&denial) {
            count(&self.counters.refused_answers);
            return answer.refused(words);
        }
        let revoked = match &denial {
            // Without the right to its own inbox a probe is refused before it is read.
            Denial::Subscription { subject, .. } if *subject == self.probe.as_str() => {
                return self.pending.probed();
            }
            Denial::Subscription { revoked, .. } => *revoked,
            _ => false,
        };
        if !revoked && self.pending.refused(&denial, words) {
            return;
        }
        count(&self.counters.unattributed);
        tracing::warn!(%words, "the server refused what it permitted before");
        if let Denial::Subscription { subject, queue, .. } = denial {
            let (filter, group) = (subject.into_owned(), queue.map(Cow::into_owned));
            self.revoked.send_modify(|list| list.add(filter, group, words.to_owned()));
        }
    }

    /// Where the marked probe of this number goes, and what it brings.
    pub(crate) fn marked(&self, number: u64) -> Marked {
        let subject = Subject::from(format!("{}.{number}", self.probe_message));
        Marked { subject, reply: Subject::from(format!("{RESERVED}.{number}")) }
    }

    /// The number of the marked probe that was refused: for its reply address, or before that for its
    /// subject.
    fn mark(&self, denial: &Denial<'_>) -> Option<u64> {
        let (refused, expected) = match denial {
            Denial::Publish(subject) => (subject, self.probe_message.as_str()),
            Denial::Reply(reply) => (reply, RESERVED),
            Denial::Subscription { .. } => return None,
        };
        refused.strip_prefix(expected)?.strip_prefix('.')?.parse().ok()
    }

    /// The key of the echo that was refused.
    fn echo(&self, denial: &Denial<'_>) -> Option<Key> {
        let Denial::Publish(subject) = denial else { return None };
        let (branch, key) = address::read(subject)?;
        (branch == self.echoes.as_str()).then_some(key)
    }

    /// How many subscriptions the server has ended so far.
    pub(crate) fn revocations(&self) -> u64 {
        self.revoked.borrow().count
    }

    /// Returns when the server has ended this subscription, with its words. It was made when that many
    /// had been ended.
    pub(crate) async fn revoked(&self, filter: &str, group: Option<&str>, since: u64) -> String {
        let mut revoked = self.revoked.subscribe();
        loop {
            if let Some(words) = revoked.borrow_and_update().find(filter, group, since) {
                return words.to_owned();
            }
            if revoked.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Tells whenever the client has thrown messages away, without saying whose.
    pub(crate) fn overflows(&self) -> watch::Receiver<u64> {
        self.overflows.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(revoked: &Revocations, filter: &str, group: Option<&str>, since: u64) -> String {
        revoked.find(filter, group, since).unwrap_or("none").to_owned()
    }

    #[test]
    fn a_subscription_is_ended_by_what_came_after_it() {
        let mut revoked = Revocations::default();
        revoked.add("a".to_owned(), None, "first".to_owned());
        assert_eq!(words(&revoked, "a", None, 0), "first");
        assert_eq!(words(&revoked, "a", None, revoked.count), "none");
        let before = revoked.count;
        revoked.add("a".to_owned(), Some("g".to_owned()), "of the group".to_owned());
        assert_eq!(words(&revoked, "a", Some("g"), before), "of the group");
        assert_eq!(words(&revoked, "a", Some("h"), before), "none");
        assert_eq!(words(&revoked, "b", None, 0), "none");
    }

    #[test]
    fn the_same_words_again_take_no_room_and_there_is_an_end_to_room() {
        let mut revoked = Revocations::default();
        (0..10).for_each(|_| revoked.add("a".to_owned(), None, "again".to_owned()));
        assert_eq!((revoked.list.len(), revoked.count), (1, 10));
        assert_eq!(words(&revoked, "a", None, 9), "again");
        (0..5000).for_each(|n| revoked.add(format!("a.{n}"), None, String::new()));
        assert_eq!(revoked.list.len(), Revocations::MOST);
    }
}
