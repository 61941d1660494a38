//! One connection of the client library, from its first word to its loss. It is never mended: the
//! supervisor makes a new one, so nothing that was queued for one session is sent in the next.

mod ending;
mod seen;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use async_nats::message::OutboundMessage;
use async_nats::{Client, Event, Subject, Subscriber};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, TryFutureExt};
use mesh_core::identity::Responder;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::topology::Inbox;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

use crate::address::Branch;
use crate::counters::{Counters, count};
use crate::dial::{self, Lost, ServerFacts};
use crate::error;
use crate::hearing::Hearing;
use crate::outlet::Outlet;
use crate::pending::{Key, Kind, OnItsWay, Outcome, Pending, Reply, Waits};
use crate::probe::Prober;
use crate::{NatsOptions, Target};

/// The most operations whose refusals may be on their way. The client's side channel holds 128 and
/// drops beyond (protocol §4 allows 100).
const UNPROVEN: usize = 100;
/// The most responders whose addresses are remembered.
const RESPONDERS: usize = 256;

/// See the module. Dropped by the last who uses it, its connection ends.
pub(crate) struct Session {
    pub(crate) id: u64,
    pub(crate) client: Client,
    outlet: Outlet,
    pub(crate) server: ServerFacts,
    pub(crate) pending: Arc<Pending>,
    inbox: Inbox,
    hearing: Arc<Hearing>,
    prober: Prober,
    /// Where appends and the server's API are answered.
    pub(crate) confirmations: Branch,
    /// Where each responder's answers come.
    replies: Mutex<HashMap<Responder, Branch>>,
    unproven: Arc<Semaphore>,
    /// Why answers can't be heard, where they can't.
    deaf: OnceLock<TransportError>,
}

/// What handing something to the client came to: it has it, or will when this is over.
pub(crate) type Handed<'a> = Result<Option<Handing<'a>>, TransportError>;
pub(crate) type Handing<'a> = BoxFuture<'a, Result<(), TransportError>>;

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
    /// Whether it is enough that somebody heard it: the answer may be that nobody did.
    pub(crate) heard: bool,
    /// Whether the server is known to let this session publish there.
    pub(crate) known: bool,
}

impl<'a> Op<'a> {
    pub(crate) fn new(operation: Operation, kind: Kind, subject: &'a Subject) -> Self {
        let key = rand::random();
        Self {
            operation,
            kind,
            subject,
            reply: Reply::None,
            key,
            asks: false,
            heard: false,
            known: false,
        }
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
        let hearing = Hearing::new(counters.clone(), inbox);
        let events = {
            let hearing = Arc::clone(&hearing);
            Arc::new(move |event: Event| hearing.hear(&event))
        };
        let dialled = dial::dial(target, options, events).await?;
        let prober = Prober {
            client: dialled.client.clone(),
            hearing: Arc::clone(&hearing),
            patience: options.ping_interval * 2,
        };
        // The tasks hold no session: who drops it, in the middle of this too, ends them.
        let session = Arc::new(Self {
            id,
            outlet: Outlet::new(&dialled.client),
            client: dialled.client,
            server: dialled.server,
            pending: Arc::clone(&hearing.pending),
            inbox: inbox.clone(),
            hearing: Arc::clone(&hearing),
            prober: prober.clone(),
            confirmations: Branch::of(&inbox.confirmation(0)),
            replies: Mutex::default(),
            unproven: Arc::new(Semaphore::new(UNPROVEN)),
            deaf: OnceLock::new(),
        });
        tokio::spawn(end_with(dialled.lost, Arc::clone(&hearing)));
        tokio::spawn(prober.run());
        let deadline = Instant::now() + options.connect_timeout;
        let filter = inbox.filter();
        match session.listen(Operation::Connect, filter.as_str(), None, deadline).await {
            Ok(answers) => {
                tokio::spawn(read_answers(answers, hearing));
            }
            // Who may not hear answers can't ask, and may do the rest.
            Err(error) if error.kind() == ErrorKind::Denied => {
                let _ = session.deaf.set(error);
            }
            Err(error) => return Err(error),
        }
        Ok(session)
    }

    /// How many subscriptions the server has ended so far.
    pub(crate) fn revocations(&self) -> u64 {
        self.hearing.revocations()
    }

    /// Returns when the server has ended this subscription, with the error for its reader. It was made
    /// when that many had been ended.
    pub(crate) async fn revoked(
        &self,
        operation: Operation,
        filter: &str,
        group: Option<&str>,
        since: u64,
    ) -> TransportError {
        denied(operation, filter, self.hearing.revoked(filter, group, since).await)
    }

    /// Tells whenever the client has thrown messages away, without saying whose.
    pub(crate) fn overflows(&self) -> watch::Receiver<u64> {
        self.hearing.overflows()
    }

    /// Whether it is to one of several servers, among whom a stream may have no leader for a while.
    pub(crate) fn in_cluster(&self) -> bool {
        self.server.cluster.is_some()
    }

    /// Whether its server retires: who has no answer from a stream there has to wait for the next session.
    pub(crate) fn retires(&self) -> bool {
        self.hearing.retires()
    }

    /// Enters `op`, hands it to the client with `hand`, and returns what came of it: an answer if `op`
    /// waits for one, else that the server has handled it.
    pub(crate) fn operate<'a>(
        &'a self,
        op: Op<'a>,
        deadline: Instant,
        hand: impl FnOnce() -> Handed<'a>,
    ) -> impl Future<Output = Result<Outcome, TransportError>> {
        let Op { operation, subject, kind, .. } = op;
        let work = async move {
            if let (true, Some(deaf)) = (op.asks, self.deaf.get()) {
                return Err(unheard(&op, deaf));
            }
            let Op { key, asks, heard, .. } = op;
            let known = op.known && asks && !heard;
            let permit = if known { None } else { Some(self.permit(operation).await?) };
            let ticket = self.pending.enter(key, kind, subject.clone(), op.reply);
            let handed = match hand() {
                Ok(Some(handing)) => handing.await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            handed.inspect_err(|error| self.ends_with(error))?;
            let proven = (!asks || heard).then_some(key);
            if !known && self.pending.sent(proven, heard, permit) {
                // Its future is large, and most operations wait for a probe that another has sent.
                Box::pin(self.prober.probe()).await?;
            }
            ticket.await.ok_or_else(|| disconnected(operation))
        };
        tokio::time::timeout_at(deadline, work).map(move |outcome| {
            outcome.unwrap_or_else(|_| {
                let error = TransportError::new(ErrorKind::TimedOut, operation);
                Err(if kind == Kind::Nothing { error } else { error.about(subject.as_str()) })
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

    /// Hands an answer to the client. A refusal of it is told later. Where the client has no room, the
    /// answer is what hands it over, and what is to be told then.
    pub(crate) fn answer<'a>(
        &'a self,
        answer: OnItsWay,
        to: &'a str,
        message: OutboundMessage,
    ) -> Result<Option<(Handing<'a>, Waits<'a>)>, TransportError> {
        let sending = || self.send(Operation::Answer, to, message);
        self.pending.answering(answer, sending).inspect_err(|error| self.ends_with(error))
    }

    /// The client knows that a connection is lost before it says so.
    fn ends_with(&self, error: &TransportError) {
        if error.kind() == ErrorKind::Disconnected {
            self.hearing.end();
        }
    }

    /// A place among the operations whose refusals may be on their way, if there is one.
    pub(crate) fn permit_now(&self) -> Option<OwnedSemaphorePermit> {
        self.unproven.clone().try_acquire_owned().ok()
    }

    /// The same, when there is one.
    pub(crate) async fn permit(
        &self,
        operation: Operation,
    ) -> Result<OwnedSemaphorePermit, TransportError> {
        if let Some(permit) = self.permit_now() {
            return Ok(permit);
        }
        let permit = self.unproven.clone().acquire_owned().await;
        permit.map_err(|_| disconnected(operation))
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
            Outcome::Lost(error) => Err(seen::unanswered(operation, filter, error)),
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
        let op = Op::new(operation, Kind::Nothing, &self.hearing.probe);
        match self.operate(op, deadline, || Ok(None)).await? {
            Outcome::Lost(error) => Err(error),
            _ => Ok(()),
        }
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

    /// Where echoes come.
    pub(crate) fn echoes(&self) -> &Branch {
        &self.hearing.echoes
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.hearing.end();
    }
}

/// Says that the connection is lost when the client says so.
async fn end_with(mut gone: Lost, hearing: Arc<Hearing>) {
    tokio::select! {
        () = gone.wait() => hearing.end(),
        () = hearing.lost() => {}
    }
}

async fn read_answers(mut answers: Subscriber, hearing: Arc<Hearing>) {
    loop {
        let next = tokio::select! {
            next = unconstrained(answers.next()) => next,
            () = hearing.lost() => return,
        };
        let Some(message) = next else { return hearing.end() };
        if !hearing.pending.answer(message) {
            count(&hearing.counters.late);
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
