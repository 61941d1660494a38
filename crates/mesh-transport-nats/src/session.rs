//! One connection of the client library, from its first word to its loss. It is never mended: the
//! supervisor makes a new one, so nothing that was queued for one session is sent in the next.

use std::sync::{Arc, OnceLock};

use async_nats::{Client, Event, Subject, Subscriber};
use futures_util::StreamExt;
use mesh_core::port::{ErrorKind, Operation, TransportError};
use mesh_core::topology::Inbox;
use tokio::sync::{Semaphore, watch};
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

use crate::counters::{Counters, count};
use crate::dial::{self, Lost, ServerFacts};
use crate::error;
use crate::hearing::Hearing;
use crate::pending::{Key, Kind, Outcome, Pending};
use crate::probe::Prober;
use crate::{NatsOptions, Target};

/// The most operations whose refusals may be on their way. The client's side channel holds 128 and
/// drops beyond (protocol §4 allows 100).
const UNPROVEN: usize = 100;

/// See the module. Dropped by the last who uses it, its connection ends.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: u64,
    pub(crate) client: Client,
    pub(crate) server: ServerFacts,
    pub(crate) pending: Arc<Pending>,
    inbox: Inbox,
    hearing: Arc<Hearing>,
    prober: Prober,
    unproven: Arc<Semaphore>,
    /// Why answers can't be heard, where they can't.
    deaf: OnceLock<TransportError>,
}

/// What is about to be sent.
pub(crate) struct Op<'a> {
    pub(crate) operation: Operation,
    pub(crate) kind: Kind,
    /// The subject or filter, by which a refusal names it.
    pub(crate) subject: &'a Subject,
    /// The reply address that it brings.
    pub(crate) reply: Option<Subject>,
    /// The key of that address, if an answer is waited for.
    pub(crate) answer: Option<Key>,
}

impl<'a> Op<'a> {
    pub(crate) fn new(operation: Operation, kind: Kind, subject: &'a Subject) -> Self {
        Self { operation, kind, subject, reply: None, answer: None }
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
            client: dialled.client,
            server: dialled.server,
            pending: Arc::clone(&hearing.pending),
            inbox: inbox.clone(),
            hearing: Arc::clone(&hearing),
            prober: prober.clone(),
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

    /// Returns when the connection is lost.
    pub(crate) async fn lost(&self) {
        self.hearing.lost().await;
    }

    /// Why it was lost.
    pub(crate) fn lost_error(&self) -> TransportError {
        self.hearing.lost_error()
    }

    /// Gives it up for this reason, so that another is made.
    pub(crate) fn abandon(&self, why: &str) {
        self.hearing.give_up(why);
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

    /// Whether the connection still stands, as far as is known.
    pub(crate) fn stands(&self) -> bool {
        !self.hearing.is_lost()
    }

    /// Enters `op`, sends what `send` hands to the client, and returns what came of it: an answer if
    /// `op` waits for one, else that the server has handled it.
    pub(crate) async fn operate<F>(
        &self,
        op: Op<'_>,
        deadline: Instant,
        send: impl FnOnce() -> F,
    ) -> Result<Outcome, TransportError>
    where
        F: Future<Output = Result<(), TransportError>>,
    {
        let Op { operation, kind, subject, reply, answer } = op;
        if let (Some(_), Some(deaf)) = (answer, self.deaf.get()) {
            return Err(TransportError::new(ErrorKind::Denied, operation)
                .about(subject.as_str())
                .detail("this account may not hear answers")
                .caused_by(deaf.clone()));
        }
        let known = answer.is_some() && self.pending.knows(subject);
        let key = answer.unwrap_or_else(rand::random);
        let work = async {
            let permit = if known { None } else { self.permit(operation).await? };
            let mut ticket = self.pending.enter(key, kind, subject.clone(), reply);
            if let Err(error) = send().await {
                if error.kind() == ErrorKind::Disconnected {
                    // The client knows before it says so.
                    self.hearing.end();
                }
                return Err(error);
            }
            if !known && self.pending.sent(answer.is_none().then_some(key), permit) {
                self.prober.probe().await?;
            }
            (&mut ticket.outcome).await.map_err(|_| disconnected(operation))
        };
        match tokio::time::timeout_at(deadline, work).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let error = TransportError::new(ErrorKind::TimedOut, operation);
                Err(if kind == Kind::Nothing { error } else { error.about(subject.as_str()) })
            }
        }
    }

    async fn permit(
        &self,
        operation: Operation,
    ) -> Result<Option<tokio::sync::OwnedSemaphorePermit>, TransportError> {
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
            .operate(op, deadline, || async {
                let subscribed = match group {
                    Some(group) => {
                        self.client.queue_subscribe(subject.clone(), group.to_owned()).await
                    }
                    None => self.client.subscribe(subject.clone()).await,
                };
                subscriber =
                    Some(subscribed.map_err(|e| error::subscribe_error(e, operation, filter))?);
                Ok(())
            })
            .await?;
        match outcome {
            Outcome::Denied(words) => Err(denied(operation, filter, words)),
            Outcome::Lost(error) => Err(error.about(filter)),
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
        let nothing = || async { Ok(()) };
        let op = Op::new(operation, Kind::Nothing, &self.hearing.probe);
        match self.operate(op, deadline, nothing).await? {
            Outcome::Lost(error) => Err(error),
            _ => Ok(()),
        }
    }

    /// The inbox that answers come to.
    pub(crate) fn inbox(&self) -> &Inbox {
        &self.inbox
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
        let random = message.subject.as_str().rsplit('.').next().unwrap_or_default();
        let key = Key::from_str_radix(random, 16);
        if !key.is_ok_and(|key| hearing.pending.answer(key, message)) {
            count(&hearing.counters.late);
        }
    }
}

/// The error of an operation that the server refused in these words.
pub(crate) fn denied(operation: Operation, subject: &str, words: String) -> TransportError {
    TransportError::new(ErrorKind::Denied, operation).about(subject).detail(words)
}

pub(crate) fn disconnected(operation: Operation) -> TransportError {
    TransportError::new(ErrorKind::Disconnected, operation)
}
