use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use mesh_core::message::Message;
use mesh_core::permissions::{Permissions, Verdict};
use mesh_core::port::{Clock, ErrorKind, Operation, QueueGroup, TransportError};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{AckAddress, ConsumerRef, DeliverySubject, Inbox, api_filter};

use crate::replies::{Given, Replies};

/// What a connection may do now.
#[derive(Debug)]
pub(crate) struct Access(Option<Enforced>);

#[derive(Debug)]
struct Enforced {
    allowed: ArcSwap<Allowed>,
    /// Where it was asked to answer, which counts where it has a budget for that.
    replies: Replies,
    answers_as_asked: AtomicBool,
    clock: Arc<dyn Clock>,
    remedy: Option<Remedy>,
}

#[derive(Debug)]
struct Allowed {
    permissions: Permissions,
    /// Every subject may be published to, which needs no look at the rules.
    publishes_anything: bool,
}

/// Says what would let it do what it was refused.
pub(crate) struct Remedy(pub(crate) Box<dyn Fn(Refused<'_>) -> Option<String> + Send + Sync>);

/// What was refused.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Refused<'a> {
    Publish(&'a Subject),
    Subscribe(&'a Filter),
    Consume(&'a ConsumerRef),
}

impl fmt::Debug for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Remedy")
    }
}

impl From<Permissions> for Allowed {
    fn from(permissions: Permissions) -> Self {
        let publishes_anything = permissions.publish.denied().is_empty()
            && permissions.publish.allowed().iter().any(|rule| rule.filter.as_str() == ">");
        Self { permissions, publishes_anything }
    }
}

impl Enforced {
    /// What was refused, with what would help.
    fn denied(&self, operation: Operation, refused: Refused<'_>) -> TransportError {
        let error = TransportError::new(ErrorKind::Denied, operation);
        let error = match refused {
            Refused::Publish(subject) => error.about(subject),
            Refused::Subscribe(filter) => error.about(filter),
            Refused::Consume(consumer) => error.about(consumer.to_string()),
        };
        match self.remedy.as_ref().and_then(|remedy| remedy.0(refused)) {
            Some(remedy) => error.detail(remedy),
            None => error,
        }
    }

    /// Whether it has been asked to answer there, and may.
    fn may_answer(&self, allowed: &Allowed, subject: &Subject) -> bool {
        let budget = allowed.permissions.responses;
        budget.is_some_and(|budget| self.replies.take(subject, budget, self.clock.monotonic()))
    }
}

impl Enforced {
    /// Notes where it is asked to answer, unless it may publish there anyway. The result is what was known
    /// of it before.
    fn give(&self, reply: &Subject) -> Option<Option<Given>> {
        let allowed = self.allowed.load();
        let budget = allowed.permissions.responses?;
        if allowed.permissions.on_publish(reply, None).is_allowed() {
            return None;
        }
        Some(self.replies.give(reply, budget, self.clock.monotonic()))
    }
}

impl Access {
    /// Where nothing is enforced.
    pub(crate) fn everything() -> Self {
        Self(None)
    }

    /// What `permissions` say, by this clock. What is refused says what would help, where that is known.
    pub(crate) fn of(
        permissions: Permissions,
        clock: Arc<dyn Clock>,
        remedy: Option<Remedy>,
    ) -> Self {
        Self(Some(Enforced {
            answers_as_asked: AtomicBool::new(permissions.responses.is_some()),
            allowed: ArcSwap::from_pointee(permissions.into()),
            replies: Replies::default(),
            clock,
            remedy,
        }))
    }

    /// From now on it is what these say.
    pub(crate) fn replace(&self, permissions: Permissions) {
        if let Self(Some(enforced)) = self {
            let answers_as_asked = permissions.responses.is_some();
            enforced.allowed.store(Arc::new(permissions.into()));
            enforced.answers_as_asked.store(answers_as_asked, Ordering::Relaxed);
        }
    }

    /// No answer is owed any more: a server that reloads forgets them.
    pub(crate) fn forget_replies(&self) {
        if let Self(Some(enforced)) = self {
            enforced.replies.forget();
        }
    }

    /// The reply address of a message for this connection, where it counts that it is given it.
    pub(crate) fn counts(&self, message: &Message) -> Option<Subject> {
        match self {
            Self(Some(enforced)) if enforced.answers_as_asked.load(Ordering::Relaxed) => {
                message.reply().cloned()
            }
            _ => None,
        }
    }

    /// Gives this connection a message with that reply address; `taken` says whether it got there. It may
    /// be answered from before it is there, as whoever reads it may be quick.
    pub(crate) fn give<T>(
        &self,
        reply: &Subject,
        deliver: impl FnOnce() -> T,
        taken: impl FnOnce(&T) -> bool,
    ) -> T {
        let Self(Some(enforced)) = self else {
            return deliver();
        };
        let given = enforced.give(reply);
        let delivered = deliver();
        if let (Some(before), false) = (given, taken(&delivered)) {
            enforced.replies.put_back(reply, before);
        }
        delivered
    }

    pub(crate) fn publish(
        &self,
        subject: &Subject,
        reply: Option<&Subject>,
        operation: Operation,
    ) -> Result<(), TransportError> {
        let Self(Some(enforced)) = self else {
            return Ok(());
        };
        let allowed = enforced.allowed.load();
        if allowed.publishes_anything && reply.is_none() && !Inbox::is_between_clusters(subject) {
            return Ok(());
        }
        let mut verdict = allowed.permissions.on_publish(subject, reply);
        if matches!(verdict, Verdict::NotAllowed | Verdict::Denied)
            && enforced.may_answer(&allowed, subject)
        {
            let brokers = reply.is_some_and(Inbox::is_brokers);
            verdict = if brokers { Verdict::BrokersReply } else { Verdict::Allowed };
        }
        match verdict {
            Verdict::Allowed => Ok(()),
            Verdict::NotAllowed | Verdict::Denied => {
                Err(enforced.denied(operation, Refused::Publish(subject)))
            }
            Verdict::BrokersReply => Err(TransportError::new(ErrorKind::Denied, operation)
                .about(subject)
                .detail("its reply address is the broker's own")),
        }
    }

    pub(crate) fn subscribe(
        &self,
        filter: &Filter,
        group: Option<&QueueGroup>,
        operation: Operation,
    ) -> Result<(), TransportError> {
        match self {
            Self(Some(enforced))
                if !enforced
                    .allowed
                    .load()
                    .permissions
                    .on_subscribe(filter, group)
                    .is_allowed() =>
            {
                Err(enforced.denied(operation, Refused::Subscribe(filter)))
            }
            _ => Ok(()),
        }
    }

    /// Whether it may listen to its own inbox, where `reply` is.
    pub(crate) fn hear_reply(&self, reply: &Subject) -> Result<(), TransportError> {
        match self {
            Self(Some(enforced))
                if !enforced.allowed.load().permissions.subscribe.permits(reply) =>
            {
                Err(TransportError::new(ErrorKind::Denied, Operation::Request)
                    .about(reply)
                    .detail("it may not listen to its own inbox"))
            }
            _ => Ok(()),
        }
    }

    /// Reading a durable consumer takes its delivery subject, in its group where it is shared, and
    /// its acknowledgements in both their forms, since which one it takes is the server's to choose.
    pub(crate) fn consume(
        &self,
        consumer: &ConsumerRef,
        shared: bool,
    ) -> Result<(), TransportError> {
        let Self(Some(enforced)) = self else {
            return Ok(());
        };
        let permissions = &enforced.allowed.load().permissions;
        let group = shared.then(|| QueueGroup::of_consumer(&consumer.consumer));
        let delivery = DeliverySubject::of(consumer.clone()).to_subject().into();
        let hears = permissions.subscribe.permits_filter(&delivery, group.as_ref());
        if hears && acknowledges(permissions, consumer) {
            Ok(())
        } else {
            Err(enforced.denied(Operation::Consume, Refused::Consume(consumer)))
        }
    }

    /// Settling a delivery takes the right to its acknowledgements, also after the delivery.
    pub(crate) fn settle(
        &self,
        consumer: &ConsumerRef,
        operation: Operation,
    ) -> Result<(), TransportError> {
        match self {
            Self(Some(enforced))
                if !acknowledges(&enforced.allowed.load().permissions, consumer) =>
            {
                Err(TransportError::new(ErrorKind::Denied, operation).about(consumer.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Streams and consumers themselves are the server's API, which takes the right to publish there.
    pub(crate) fn administer(&self, operation: Operation) -> Result<(), TransportError> {
        match self {
            Self(Some(enforced)) if !may_administer(&enforced.allowed.load().permissions) => {
                Err(TransportError::new(ErrorKind::Denied, operation).about(api_filter()))
            }
            _ => Ok(()),
        }
    }

    /// Whether a subject is denied within what may be subscribed to.
    pub(crate) fn hides(&self, subject: &Subject) -> bool {
        match self {
            Self(Some(enforced)) => enforced.allowed.load().permissions.subscribe.hides(subject),
            Self(None) => false,
        }
    }
}

fn may_administer(permissions: &Permissions) -> bool {
    permissions.publish.permits_filter(&api_filter(), None)
}

/// Whether the acknowledgements of a consumer may be published, in both their forms.
fn acknowledges(permissions: &Permissions, consumer: &ConsumerRef) -> bool {
    let filters = AckAddress::filters(consumer);
    filters.iter().all(|filter| permissions.publish.permits_filter(filter, None))
}
