//! What one session waits for, and what the server's words about it mean.
//!
//! A server refuses in words of its own, `-ERR …`, which name a subject and no operation, and says
//! nothing about what it accepts. The client hands these words on through a side channel, in the
//! order they came. So each operation is entered here before it is sent, a refusal is given to the
//! oldest one that it fits, and a *probe* tells when no refusal can come any more: a subscription that
//! the server refuses as malformed, and whose refusal comes through the same channel, after all that was
//! refused before it. It leaves no trace on the server, and none in its log unless this account may not
//! even hear answers.

use std::collections::hash_map::Entry::{Occupied, Vacant};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_nats::Subject;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;

use crate::address::{self, Branch};
use crate::events::Denial;

mod answers;
mod echoes;
mod probes;

use answers::Answers;
pub(crate) use answers::{OnItsWay, Waits};
use echoes::Echoes;
use probes::{Probes, Proof};

/// Identifies an operation: the random part of its reply address, where it has one.
pub(crate) type Key = u128;

/// What became of an operation.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// An answer came to its reply address.
    Answer(async_nats::Message),
    /// The server has handled it without refusing it.
    Handled,
    /// The server refused it, in these words.
    Denied(String),
    /// The session ended before anything was known.
    Lost(TransportError),
}

/// What an operation does, as far as a refusal tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Publish,
    Subscribe,
    /// Nothing that can be refused.
    Nothing,
}

/// The reply address that an operation brings.
#[derive(Debug, Clone, Default)]
pub(crate) enum Reply {
    #[default]
    None,
    /// The operation's own, where its answer comes.
    Own(Branch),
    /// One that its caller named; what comes there is not for this session.
    Given(Box<Subject>),
}

impl Reply {
    fn is(&self, key: Key, address: &str) -> bool {
        match self {
            Self::None => false,
            Self::Own(branch) => address::read(address) == Some((branch.as_str(), key)),
            Self::Given(given) => given.as_str() == address,
        }
    }
}

struct Entry {
    kind: Kind,
    subject: Subject,
    reply: Reply,
    order: u64,
    sender: oneshot::Sender<Outcome>,
}

impl Entry {
    fn answered_at(&self, branch: &str) -> bool {
        matches!(&self.reply, Reply::Own(own) if own.as_str() == branch)
    }
}

/// Waits for the server to have handled what was sent up to `index`.
struct Waiting {
    index: u64,
    /// The operation that is over then, unless it waits for an answer.
    key: Option<Key>,
    /// Whether an echo must tell, too, that somebody heard it.
    echoed: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

#[derive(Default)]
struct State {
    /// The keys are random and our own.
    entries: FxHashMap<Key, Entry>,
    order: u64,
    /// How many operations were handed to the client that somebody wants to know of.
    sent: u64,
    probes: Probes,
    echoes: Echoes,
    waiting: VecDeque<Waiting>,
    answers: Answers,
    /// Subjects that were answered in this session: nothing is to be learnt from a probe.
    known: HashMap<Box<str>, Subject>,
    ended: Option<TransportError>,
}

impl State {
    /// Whether somebody waits whom no probe covers, or many answers do.
    fn is_left(&self) -> bool {
        (!self.waiting.is_empty() || self.answers.are_many()) && self.probes.is_wanting()
    }
}

/// The operations of one session.
#[derive(Default)]
pub(crate) struct Pending {
    state: Mutex<State>,
    /// Woken when somebody waits and no probe is on its way.
    pub(crate) wanted: tokio::sync::Notify,
}

/// The most subjects that are remembered as permitted.
const KNOWN: usize = 4096;

/// An operation that was entered. Dropped, it is forgotten.
pub(crate) struct Ticket<'a> {
    pending: &'a Pending,
    key: Key,
    outcome: oneshot::Receiver<Outcome>,
    over: bool,
}

/// What became of it; nothing if it was forgotten.
impl Future for Ticket<'_> {
    type Output = Option<Outcome>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = ready!(Pin::new(&mut self.outcome).poll(context)).ok();
        // Whoever told it has taken it out.
        self.over = outcome.is_some();
        Poll::Ready(outcome)
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.pending.state.lock().entries.remove(&self.key);
        }
    }
}

impl Pending {
    /// Enters an operation, before it is sent.
    pub(crate) fn enter(&self, key: Key, kind: Kind, subject: Subject, reply: Reply) -> Ticket<'_> {
        let (sender, outcome) = oneshot::channel();
        let mut state = self.state.lock();
        if let Some(error) = &state.ended {
            let _ = sender.send(Outcome::Lost(error.clone()));
        } else {
            state.order += 1;
            let order = state.order;
            let entry = Entry { kind, subject, reply, order, sender };
            state.entries.insert(key, entry);
        }
        Ticket { pending: self, key, outcome, over: false }
    }

    /// The subject as the client has it, if the server is known to let this session publish there.
    pub(crate) fn known(&self, subject: &str) -> Option<Subject> {
        self.state.lock().known.get(subject).cloned()
    }

    /// Says that the server let this session publish there.
    pub(crate) fn learn(&self, subject: &Subject) {
        let mut state = self.state.lock();
        if state.known.len() < KNOWN && !state.known.contains_key(subject.as_str()) {
            state.known.insert(subject.as_str().into(), subject.clone());
        }
    }

    /// Says that an operation was handed to the client and that its handling is waited for: with a
    /// key, that is its outcome; `echoed`: only once it is known, too, that somebody heard it. Answers whether
    /// a probe must be sent now.
    #[must_use]
    pub(crate) fn sent(
        &self,
        key: Option<Key>,
        echoed: bool,
        permit: Option<OwnedSemaphorePermit>,
    ) -> bool {
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return false;
        }
        state.sent += 1;
        let index = state.sent;
        if echoed {
            state.forget_given_up();
            state.echoes.want(index);
        }
        state.waiting.push_back(Waiting { index, key, echoed, _permit: permit });
        state.probes.is_wanting()
    }

    /// Says that a probe is about to be handed to the client.
    pub(crate) fn probing(&self) -> Probe<'_> {
        let mut state = self.state.lock();
        let covers = state.sent;
        let (number, marked) = state.probes.begin(covers);
        let echo = state.echoes.begin(covers);
        Probe { pending: self, number, marked, echo, handed_over: false }
    }

    /// Whether somebody waits whom no probe covers; `all`: or anything.
    pub(crate) fn needs_probe(&self, all: bool) -> bool {
        let state = self.state.lock();
        let unproven = || !state.answers.is_empty() && state.probes.is_wanting();
        state.ended.is_none() && (state.is_left() || all && unproven())
    }

    /// Since when the oldest unanswered probe is on its way.
    pub(crate) fn probing_since(&self) -> Option<Instant> {
        self.state.lock().probes.since()
    }

    /// A message came to an address of this connection's inbox. Answers whether it was waited for.
    pub(crate) fn answer(&self, message: async_nats::Message) -> bool {
        let Some((branch, key)) = address::read(&message.subject) else { return false };
        let entry = {
            let mut state = self.state.lock();
            match state.entries.entry(key) {
                Occupied(entry) if entry.get().answered_at(branch) => entry.remove(),
                Occupied(_) => return false,
                Vacant(_) => return state.echoed(key),
            }
        };
        let _ = entry.sender.send(Outcome::Answer(message));
        true
    }

    /// The server refused something. Answers whether it was the doing of an operation that waits.
    pub(crate) fn refused(&self, denial: &Denial<'_>, words: &str) -> bool {
        let mut state = self.state.lock();
        let oldest = {
            let fits = |key: Key, entry: &Entry| match denial {
                Denial::Publish(subject) => {
                    entry.kind == Kind::Publish && entry.subject.as_str() == subject.as_ref()
                }
                Denial::Reply(reply) => entry.kind == Kind::Publish && entry.reply.is(key, reply),
                Denial::Subscription { subject, .. } => {
                    entry.kind == Kind::Subscribe && entry.subject.as_str() == subject.as_ref()
                }
            };
            let fitting = state.entries.iter().filter(|(key, entry)| fits(**key, entry));
            fitting.min_by_key(|(_, entry)| entry.order).map(|(key, _)| *key)
        };
        if let Denial::Publish(subject) = denial {
            state.known.remove(subject.as_ref());
        }
        let Some(entry) = oldest.and_then(|key| state.entries.remove(&key)) else { return false };
        let _ = entry.sender.send(Outcome::Denied(words.to_owned()));
        true
    }

    /// The server takes no more subscriptions: one that waits, or a probe.
    pub(crate) fn full(&self) {
        let mut state = self.state.lock();
        state.probes.full();
        self.want(&state);
    }

    /// The oldest probe came back: all before it was handled.
    pub(crate) fn probed(&self) {
        let mut state = self.state.lock();
        let proof = state.probes.answered();
        self.proven(state, proof);
    }

    /// The marked probe of this number came back.
    pub(crate) fn mark_probed(&self, number: u64) {
        let mut state = self.state.lock();
        let proof = state.probes.marked(number);
        self.proven(state, proof);
    }

    fn proven(&self, mut state: MutexGuard<'_, State>, proof: Option<Proof>) {
        let Some(Proof { covers, mut refused }) = proof else { return };
        let count = state.waiting.iter().take_while(|waiting| waiting.index <= covers).count();
        let mut over: Vec<_> = state.waiting.drain(..count).collect();
        over.retain(|waiting| match waiting.key {
            Some(key) if waiting.echoed => state.echoes.keep(waiting.index, key),
            _ => true,
        });
        for key in over.iter().rev().filter_map(|waiting| waiting.key) {
            let Some(entry) = state.entries.remove(&key) else { continue };
            let outcome = if entry.kind == Kind::Subscribe && refused > 0 {
                refused -= 1;
                let error = TransportError::new(ErrorKind::Broker, Operation::Subscribe);
                Outcome::Lost(
                    error.detail("this account has all the subscriptions that it may have"),
                )
            } else {
                Outcome::Handled
            };
            let _ = entry.sender.send(outcome);
        }
        state.answers.proven(covers);
        self.want(&state);
    }

    /// Has a probe sent, if somebody waits whom none covers.
    fn want(&self, state: &State) {
        if state.is_left() {
            self.wanted.notify_one();
        }
    }

    /// The session is over: nothing more will be learnt about what waits.
    pub(crate) fn end(&self, error: &TransportError) {
        let mut state = self.state.lock();
        state.ended.get_or_insert_with(|| error.clone());
        state.waiting.clear();
        state.probes.clear();
        state.echoes.clear();
        state.answers.lost(error);
        for (_, entry) in state.entries.drain() {
            let _ = entry.sender.send(Outcome::Lost(error.clone()));
        }
    }

    /// How many operations wait.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().entries.len()
    }

    /// How many operations and answers are not proven to be handled, whether somebody still waits or not.
    pub(crate) fn unproven(&self) -> usize {
        let state = self.state.lock();
        state.waiting.len() + state.answers.len()
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("waiting", &self.len()).finish_non_exhaustive()
    }
}

/// A probe on its way to the client. Dropped before it was handed over, it was never sent.
pub(crate) struct Probe<'a> {
    pending: &'a Pending,
    pub(crate) number: u64,
    /// Whether it is to be marked with its number.
    pub(crate) marked: bool,
    /// The key of the echo that is to be sent before it.
    pub(crate) echo: Option<Key>,
    handed_over: bool,
}

impl Probe<'_> {
    /// The client has it.
    pub(crate) fn handed_over(mut self) {
        self.handed_over = true;
        self.pending.state.lock().probes.handed_over(self.number);
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        if self.handed_over {
            return;
        }
        let mut state = self.pending.state.lock();
        state.probes.take_back(self.number);
        if let Some(key) = self.echo {
            state.echoes.take_back(key);
        }
        self.pending.want(&state);
    }
}
