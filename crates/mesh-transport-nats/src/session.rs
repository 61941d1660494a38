//! One connection of the client library, from its first word to its loss. It is never mended: the
//! supervisor makes a new one, so nothing that was queued for one session is sent in the next.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use async_nats::message::OutboundMessage;
use async_nats::{Client, Event, ServerError, Subject, Subscriber};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, TryFutureExt};
use mesh_core::identity::Responder;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::topology::Inbox;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;

use crate::address::Branch;
use crate::dial::{self, ServerFacts};
use crate::error;
use crate::events::{Denial, Notice};
use crate::outlet::Outlet;
use crate::pending::{Key, Kind, Outcome, Pending, Reply};
use crate::{NatsOptions, Target};

/// The most operations whose refusals may be on their way. The client's side channel holds 128 and
/// drops beyond (protocol §4 allows 100).
const UNPROVEN: usize = 100;
/// The most responders whose addresses are remembered.
const RESPONDERS: usize = 256;

/// See the module.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: u64,
    pub(crate) client: Client,
    outlet: Outlet,
    pub(crate) server: ServerFacts,
    pub(crate) pending: Arc<Pending>,
    inbox: Inbox,
    /// Where appends and the server's API are answered.
    pub(crate) confirmations: Branch,
    /// Where each responder's answers come.
    replies: Mutex<HashMap<Responder, Branch>>,
    probe: Subject,
    unproven: Arc<Semaphore>,
    lost: Arc<watch::Sender<bool>>,
    late: Arc<AtomicU64>,
    /// What the server took away from this session since it began.
    revoked: Arc<watch::Sender<Vec<Revoked>>>,
    /// Why answers can't be heard, where they can't.
    deaf: OnceLock<TransportError>,
}

/// A subscription that the server ended: its right was withdrawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revoked {
    filter: String,
    group: Option<String>,
    words: String,
}

/// What the session does not keep for itself: counts over all sessions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters {
    /// Answers that nobody waited for any more.
    pub(crate) late: Arc<AtomicU64>,
    /// Refusals that belong to no operation that waits: acknowledgements, and what was permitted
    /// a moment ago.
    pub(crate) unattributed: Arc<AtomicU64>,
}

/// What handing something to the client came to: it has it, or will when this is over.
pub(crate) type Handed<'a> =
    Result<Option<BoxFuture<'a, Result<(), TransportError>>>, TransportError>;

/// What is about to be sent.
pub(crate) struct Op<'a> {
    pub(crate) operation: Operation,
    pub(crate) kind: Kind,
    /// The subject or filter, by which a refusal names it.
    pub(crate) subject: &'a Subject,
    /// The reply address that it brings.
    pub(crate) reply: Reply,
    /// The random end of that address, if it is the session's.
    pub(crate) key: Key,
    /// Whether an answer is waited for.
    pub(crate) asks: bool,
    /// Whether the server is known to let this session publish there.
    pub(crate) known: bool,
}

impl<'a> Op<'a> {
    pub(crate) fn new(operation: Operation, kind: Kind, subject: &'a Subject) -> Self {
        let key = rand::random();
        Self { operation, kind, subject, reply: Reply::None, key, asks: false, known: false }
    }

    /// A publish that is answered, and the address for its answer.
    pub(crate) fn asking(
        operation: Operation,
        subject: &'a Subject,
        branch: &Branch,
    ) -> (Self, Subject) {
        let op = Self::new(operation, Kind::Publish, subject);
        let address = branch.address(op.key);
        (Self { reply: Reply::Own(branch.clone()), asks: true, ..op }, address)
    }
}

impl Session {
    /// Dials, and returns when the inbox is open.
    pub(crate) async fn open(
        id: u64,
        target: &Target,
        options: &NatsOptions,
        inbox: &Inbox,
        counters: &Counters,
    ) -> Result<Arc<Self>, TransportError> {
        let pending = Arc::new(Pending::default());
        let lost = Arc::new(watch::Sender::new(false));
        let revoked = Arc::new(watch::Sender::new(Vec::new()));
        let events = {
            let hearing = Hearing {
                pending: pending.clone(),
                counters: counters.clone(),
                lost: lost.clone(),
                revoked: revoked.clone(),
            };
            Arc::new(move |event: Event| hearing.hear(&event))
        };
        let dialled = dial::dial(target, options, events).await?;
        let session = Arc::new(Self {
            id,
            outlet: Outlet::new(&dialled.client),
            client: dialled.client,
            server: dialled.server,
            pending,
            inbox: inbox.clone(),
            confirmations: Branch::of(&inbox.confirmation(0)),
            replies: Mutex::default(),
            probe: Subject::from(format!("{inbox}.>.probe")),
            unproven: Arc::new(Semaphore::new(UNPROVEN)),
            lost,
            late: counters.late.clone(),
            revoked,
            deaf: OnceLock::new(),
        });
        let mut gone = dialled.lost;
        let ended = Arc::clone(&session);
        tokio::spawn(async move {
            gone.wait().await;
            ended.abandon();
        });
        tokio::spawn(session.clone().send_probes());
        let deadline = Instant::now() + options.connect_timeout;
        let filter = inbox.filter();
        let opened = session.listen(Operation::Connect, filter.as_str(), None, deadline).await;
        match opened {
            Ok(answers) => {
                tokio::spawn(session.clone().read_answers(answers));
            }
            // Who may not hear answers can't ask, and may do the rest.
            Err(error) if error.kind() == ErrorKind::Denied => {
                let _ = session.deaf.set(error);
            }
            Err(error) => {
                session.pending.end(&error);
                return Err(error);
            }
        }
        Ok(session)
    }

    /// Returns when the connection is lost.
    pub(crate) async fn lost(&self) {
        let _ = self.lost.subscribe().wait_for(|lost| *lost).await;
    }

    /// Gives it up, so that another is made.
    pub(crate) fn abandon(&self) {
        self.pending.end(&disconnected(Operation::Connect).detail("the connection was given up"));
        self.lost.send_replace(true);
    }

    /// How many subscriptions the server has ended so far.
    pub(crate) fn revocations(&self) -> usize {
        self.revoked.borrow().len()
    }

    /// Returns when the server has ended this subscription, with the error for its reader. It was made
    /// when that many had been ended.
    pub(crate) async fn revoked(
        &self,
        operation: Operation,
        filter: &str,
        group: Option<&str>,
        since: usize,
    ) -> TransportError {
        let is = |revoked: &&Revoked| {
            // The server names the group only where the right was one of the group's.
            let group = revoked.group.is_none() || revoked.group.as_deref() == group;
            revoked.filter == filter && group
        };
        let mut revoked = self.revoked.subscribe();
        loop {
            if let Some(revoked) = revoked.borrow_and_update().iter().skip(since).find(is) {
                return denied(operation, filter, revoked.words.clone());
            }
            if revoked.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Whether the connection still stands, as far as is known.
    pub(crate) fn stands(&self) -> bool {
        !*self.lost.borrow()
    }

    /// Enters `op`, hands it to the client with `hand`, and returns what came of it: an answer if `op`
    /// waits for one, else that the server has handled it.
    pub(crate) fn operate<'a>(
        &'a self,
        op: Op<'a>,
        deadline: Instant,
        hand: impl FnOnce() -> Handed<'a>,
    ) -> impl Future<Output = Result<Outcome, TransportError>> {
        let Op { operation, subject, .. } = op;
        let work = async move {
            if let (true, Some(deaf)) = (op.asks, self.deaf.get()) {
                return Err(unheard(&op, deaf));
            }
            let Op { key, kind, asks, .. } = op;
            let known = op.known && asks;
            let permit = if known { None } else { self.permit(operation).await? };
            let ticket = self.pending.enter(key, kind, subject.clone(), op.reply);
            if let Some(handing) = hand()? {
                handing.await?;
            }
            if !known && self.pending.sent((!asks).then_some(key), permit) {
                self.probe().await?;
            }
            ticket.await.ok_or_else(|| disconnected(operation))
        };
        tokio::time::timeout_at(deadline, work).map(move |outcome| {
            outcome.unwrap_or_else(|_| {
                Err(TransportError::new(ErrorKind::TimedOut, operation).about(subject.as_str()))
            })
        })
    }

    /// Hands a message to the client.
    pub(crate) fn send<'a>(
        &'a self,
        operation: Operation,
        subject: &'a str,
        message: OutboundMessage,
    ) -> Handed<'a> {
        let failed = move |error| error::publish_error(error, operation, subject);
        let waiting = self.outlet.send(message).map_err(failed)?;
        Ok(waiting.map(|waiting| Box::pin(waiting.map_err(failed)) as _))
    }

    async fn permit(
        &self,
        operation: Operation,
    ) -> Result<Option<tokio::sync::OwnedSemaphorePermit>, TransportError> {
        if let Ok(permit) = self.unproven.clone().try_acquire_owned() {
            return Ok(Some(permit));
        }
        let permit = self.unproven.clone().acquire_owned().await;
        permit.map(Some).map_err(|_| disconnected(operation))
    }

    /// Subscribes, and returns when the server delivers.
    pub(crate) async fn listen(
        &self,
        operation: Operation,
        filter: &str,
        group: Option<&str>,
        deadline: Instant,
    ) -> Result<Subscriber, TransportError> {
        let subject = Subject::from(filter);
        let mut subscriber = None;
        let op = Op::new(operation, Kind::Subscribe, &subject);
        let outcome = self
            .operate(op, deadline, || {
                Ok(Some(Box::pin(async {
                    let subscribed = match group {
                        Some(group) => {
                            self.client.queue_subscribe(subject.clone(), group.to_owned()).await
                        }
                        None => self.client.subscribe(subject.clone()).await,
                    };
                    let failed = |error| error::subscribe_error(error, operation, filter);
                    subscriber = Some(subscribed.map_err(failed)?);
                    Ok(())
                })))
            })
            .await?;
        match outcome {
            Outcome::Denied(words) => Err(denied(operation, filter, words)),
            Outcome::Lost(error) => Err(error),
            Outcome::Handled | Outcome::Answer(_) => {
                subscriber.ok_or_else(|| disconnected(operation))
            }
        }
    }

    /// Returns when the server has handled all that this session sent before.
    pub(crate) async fn handled(
        &self,
        operation: Operation,
        deadline: Instant,
    ) -> Result<(), TransportError> {
        let op = Op::new(operation, Kind::Subscribe, &self.probe);
        match self.operate(op, deadline, || Ok(None)).await? {
            Outcome::Lost(error) => Err(error),
            _ => Ok(()),
        }
    }

    async fn probe(&self) -> Result<(), TransportError> {
        let probe = self.pending.probing();
        // Its future is large, and most operations wait for a probe that another has sent.
        let sent = Box::pin(self.client.subscribe(self.probe.clone())).await;
        sent.map_err(|e| error::subscribe_error(e, Operation::Flush, &self.probe))?;
        probe.handed_over();
        Ok(())
    }

    /// Sends a probe whenever somebody came to wait while another was on its way.
    async fn send_probes(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.pending.wanted.notified() => {}
                () = self.lost() => return,
            }
            if self.pending.needs_probe() && self.probe().await.is_err() {
                return;
            }
        }
    }

    async fn read_answers(self: Arc<Self>, mut answers: Subscriber) {
        while let Some(message) = answers.next().await {
            if !self.pending.answer(message) {
                self.late.fetch_add(1, Ordering::Relaxed);
            }
        }
        let error = disconnected(Operation::Request).detail("the connection was lost meanwhile");
        self.pending.end(&error);
    }

    /// The subject as the client has it, and whether the server is known to let this session publish
    /// there.
    pub(crate) fn subject(&self, subject: &str) -> (Subject, bool) {
        let known = self.pending.known(subject);
        let is_known = known.is_some();
        (known.unwrap_or_else(|| Subject::from(subject)), is_known)
    }

    /// Where the answers of `responder` come.
    pub(crate) fn replies(&self, responder: &Responder) -> Branch {
        let mut replies = self.replies.lock();
        if let Some(branch) = replies.get(responder) {
            return branch.clone();
        }
        let branch = Branch::of(&self.inbox.reply(responder, 0));
        if replies.len() < RESPONDERS {
            replies.insert(responder.clone(), branch.clone());
        }
        branch
    }

    /// The inbox that answers come to.
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
    }
}

/// What hears the client's events.
struct Hearing {
    pending: Arc<Pending>,
    counters: Counters,
    lost: Arc<watch::Sender<bool>>,
    revoked: Arc<watch::Sender<Vec<Revoked>>>,
}

impl Hearing {
    fn hear(&self, event: &Event) {
        match event {
            Event::ServerError(ServerError::Other(words)) => self.server_says(words),
            Event::Disconnected | Event::Closed => {
                let error = disconnected(Operation::Connect).detail("the connection was lost");
                self.pending.end(&error);
                self.lost.send_replace(true);
            }
            other => tracing::debug!(event = %other, "of the client"),
        }
    }

    fn server_says(&self, words: &str) {
        let denial = match Notice::parse(words) {
            Notice::InvalidSubject => return self.pending.probed(),
            Notice::Denied(denial) => denial,
            _ => return tracing::warn!(%words, "the server complains"),
        };
        let revoked = matches!(denial, Denial::Subscription { revoked: true, .. });
        if !revoked && self.pending.refused(&denial, words) {
            return;
        }
        self.counters.unattributed.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(%words, "the server refused what it permitted before");
        if let Denial::Subscription { subject, queue, .. } = denial {
            let revoked = Revoked {
                filter: subject.into_owned(),
                group: queue.map(Cow::into_owned),
                words: words.to_owned(),
            };
            self.revoked.send_modify(|list| list.push(revoked));
        }
    }
}

fn unheard(op: &Op<'_>, deaf: &TransportError) -> TransportError {
    TransportError::new(ErrorKind::Denied, op.operation)
        .about(op.subject.as_str())
        .detail("this account may not hear answers")
        .caused_by(deaf.clone())
}

/// The error of an operation that the server refused in these words.
pub(crate) fn denied(operation: Operation, subject: &str, words: String) -> TransportError {
    TransportError::new(ErrorKind::Denied, operation).about(subject).detail(words)
}

pub(crate) fn disconnected(operation: Operation) -> TransportError {
    TransportError::new(ErrorKind::Disconnected, operation)
}
