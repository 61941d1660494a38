use std::sync::Arc;

use arc_swap::ArcSwap;
use mesh_core::permissions::{Permissions, Verdict};
use mesh_core::port::{ErrorKind, Operation, QueueGroup, TransportError};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::{AckAddress, ConsumerRef, DeliverySubject, api_filter};

/// What a connection may do now.
#[derive(Debug)]
pub(crate) struct Access(Option<ArcSwap<Allowed>>);

#[derive(Debug)]
struct Allowed {
    permissions: Permissions,
    /// Every subject may be published to, which needs no look at the rules.
    publishes_anything: bool,
}

impl From<Permissions> for Allowed {
    fn from(permissions: Permissions) -> Self {
        let publishes_anything = permissions.publish.denied().is_empty()
            && permissions.publish.allowed().iter().any(|rule| rule.filter.as_str() == ">");
        Self { permissions, publishes_anything }
    }
}

impl Access {
    /// Where nothing is enforced.
    pub(crate) fn everything() -> Self {
        Self(None)
    }

    /// What `permissions` say.
    pub(crate) fn of(permissions: Permissions) -> Self {
        Self(Some(ArcSwap::from_pointee(permissions.into())))
    }

    /// From now on it is what these say.
    pub(crate) fn replace(&self, permissions: Permissions) {
        if let Self(Some(current)) = self {
            current.store(Arc::new(permissions.into()));
        }
    }

    pub(crate) fn publish(
        &self,
        subject: &Subject,
        reply: Option<&Subject>,
        operation: Operation,
    ) -> Result<(), TransportError> {
        let Self(Some(allowed)) = self else {
            return Ok(());
        };
        let allowed = allowed.load();
        if allowed.publishes_anything && reply.is_none() {
            return Ok(());
        }
        let denied = || TransportError::new(ErrorKind::Denied, operation).about(subject);
        match allowed.permissions.on_publish(subject, reply) {
            Verdict::Allowed => Ok(()),
            Verdict::NotAllowed | Verdict::Denied => Err(denied()),
            Verdict::BrokersReply => Err(denied().detail("its reply address is the broker's own")),
        }
    }

    pub(crate) fn subscribe(
        &self,
        filter: &Filter,
        group: Option<&QueueGroup>,
        operation: Operation,
    ) -> Result<(), TransportError> {
        match self {
            Self(Some(allowed))
                if !allowed.load().permissions.on_subscribe(filter, group).is_allowed() =>
            {
                Err(TransportError::new(ErrorKind::Denied, operation).about(filter))
            }
            _ => Ok(()),
        }
    }

    /// Whether it may listen to its own inbox, where `reply` is.
    pub(crate) fn hear_reply(&self, reply: &Subject) -> Result<(), TransportError> {
        match self {
            Self(Some(allowed)) if !allowed.load().permissions.subscribe.permits(reply) => {
                Err(TransportError::new(ErrorKind::Denied, Operation::Request)
                    .about(reply)
                    .detail("it may not listen to its own inbox"))
            }
            _ => Ok(()),
        }
    }

    /// Reading a durable consumer takes its delivery subject, in its group where it is shared, and
    /// its acknowledgements in one of their forms.
    pub(crate) fn consume(
        &self,
        consumer: &ConsumerRef,
        shared: bool,
    ) -> Result<(), TransportError> {
        let Self(Some(allowed)) = self else {
            return Ok(());
        };
        let permissions = &allowed.load().permissions;
        let group = shared.then(|| QueueGroup::of_consumer(&consumer.consumer));
        let delivery = DeliverySubject::of(consumer.clone()).to_subject().into();
        let hears = permissions.subscribe.permits_filter(&delivery, group.as_ref());
        if hears && acknowledges(permissions, consumer) {
            Ok(())
        } else {
            Err(TransportError::new(ErrorKind::Denied, Operation::Consume)
                .about(consumer.to_string()))
        }
    }

    /// Settling a delivery takes the right to its acknowledgements, also after the delivery.
    pub(crate) fn settle(
        &self,
        consumer: &ConsumerRef,
        operation: Operation,
    ) -> Result<(), TransportError> {
        match self {
            Self(Some(allowed)) if !acknowledges(&allowed.load().permissions, consumer) => {
                Err(TransportError::new(ErrorKind::Denied, operation).about(consumer.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// Streams and consumers themselves are the server's API, which takes the right to publish there.
    pub(crate) fn administer(&self, operation: Operation) -> Result<(), TransportError> {
        match self {
            Self(Some(allowed))
                if !allowed.load().permissions.publish.permits_filter(&api_filter(), None) =>
            {
                Err(TransportError::new(ErrorKind::Denied, operation).about(api_filter()))
            }
            _ => Ok(()),
        }
    }

    /// Whether a subject is denied within what may be subscribed to.
    pub(crate) fn hides(&self, subject: &Subject) -> bool {
        match self {
            Self(Some(allowed)) => allowed.load().permissions.subscribe.hides(subject),
            Self(None) => false,
        }
    }
}

/// Whether the acknowledgements of a consumer may be published, in one of their forms.
fn acknowledges(permissions: &Permissions, consumer: &ConsumerRef) -> bool {
    let filters = AckAddress::filters(consumer);
    filters.iter().any(|filter| permissions.publish.permits_filter(filter, None))
}
