//! Live messages that are heard: a queue of its own for each subscription, or one that a group shares.

mod place;
mod pump;
mod spot;

#[cfg(test)]
pub(crate) mod tests;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use lapin::message::Delivery;
use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::{
    ErrorKind, Incoming, Operation, ReceiveError, RefusalReason, SubscribeOptions, Subscription,
    TransportError,
};
use mesh_core::subject::{Filter, Subject};
use mesh_core::topology::AmqpRoute;
use mesh_session::Queue;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::convert;
use crate::counters::{Counters, count};
use crate::link::{deadline, runtime_ended};
use crate::port::Owner;

use place::Own;
pub(crate) use place::{Place, Wanted};
pub(crate) use pump::Hearing;
use pump::Pump;
pub(crate) use spot::Spot;

/// What a subscription makes of a delivery: an arrival, a word about it, or nothing.
pub(crate) type Admit<T> = Box<dyn FnMut(Delivery) -> Option<Result<T, ReceiveError>> + Send>;

/// Listens from now on.
pub(crate) async fn subscribe(
    owner: &Arc<Owner>,
    filter: Filter,
    options: SubscribeOptions,
) -> Result<Subscription, TransportError> {
    let wanted = match &options.group {
        None => Wanted::Own(Own::Live(filter.clone())),
        Some(group) => Wanted::shared(group, &filter),
    };
    let place = Place::of(Operation::Subscribe, wanted, &filter)?;
    let sieve = Sieve { filter, place: place.clone(), counters: owner.link().counters.clone() };
    let admit = Box::new(move |delivery| sieve.message(delivery, true));
    let arrivals =
        listen(owner, place, options.buffer.get(), deadline(options.timeout), admit).await?;
    Ok(Incoming::new(arrivals))
}

/// The reader's end. Dropped, it leaves.
pub(crate) struct Arrivals<T> {
    queue: Arc<Queue<T>>,
    _reader: Reader,
}

impl<T> Stream for Arrivals<T> {
    type Item = Result<T, ReceiveError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.queue.poll(context)
    }
}

/// Whoever waits for a subscription, and then for what it hears.
struct Reader {
    id: u64,
    owner: Arc<Owner>,
    /// Dropped with the reader, which the task sees.
    _there: watch::Sender<()>,
    /// Kept for `flush`, which asks whoever is there.
    _hearing: Arc<Hearing>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.owner.link().line.places().leaves(self.id);
    }
}

/// Takes a place, and returns when the broker delivers there. Given up midway, the place is left again.
pub(crate) async fn listen<T: Send + 'static>(
    owner: &Arc<Owner>,
    place: Place,
    buffer: usize,
    due: Instant,
    admit: Admit<T>,
) -> Result<Arrivals<T>, TransportError> {
    let link = owner.link();
    let operation = place.operation;
    link.line.check_open(operation)?;
    let session = link.line.session(operation, due).await?;
    let id = link.line.next_id();
    link.line.placed(id, &session);
    let queue = Arc::new(Queue::new(buffer));
    let (there, gone) = watch::channel(());
    let (hearing, asked) = Hearing::new();
    link.hear(&hearing);
    let reader = Reader { id, owner: Arc::clone(owner), _there: there, _hearing: hearing };
    let (told, placed) = oneshot::channel();
    let pump = Pump::new(link, id, place, &queue, admit, gone, asked);
    link.line.runtime().spawn(pump.run(session, due, told));
    placed.await.unwrap_or_else(|_| Err(runtime_ended(operation)))?;
    Ok(Arrivals { queue, _reader: reader })
}

/// Tells what was asked for from what came.
pub(crate) struct Sieve {
    pub(crate) filter: Filter,
    pub(crate) place: Place,
    pub(crate) counters: Counters,
}

impl Sieve {
    /// The message of a delivery with whoever is proven to have sent it; a word where it is refused, and
    /// nothing where the queue hears more than was asked for.
    pub(crate) fn read(
        &self,
        delivery: Delivery,
        with_reply: bool,
    ) -> Option<Result<(Message, Sender), ReceiveError>> {
        let Delivery { exchange, routing_key, properties, data, .. } = delivery;
        let Ok(key) = Subject::new(routing_key.as_str()) else {
            count(&self.counters.refused);
            tracing::warn!("a message under a key that is none was refused");
            return None;
        };
        let refused = |subject: &Subject, reason| {
            count(&self.counters.refused);
            Some(Err(ReceiveError::Refused { subject: subject.clone(), reason }))
        };
        let Some(user) = properties.user_id().as_ref().map(ToString::to_string) else {
            return refused(&key, RefusalReason::Unproven);
        };
        let sender = Sender { principal: Principal::from_amqp_user(&user), user };
        let from = Place::exchange(exchange.as_str());
        let subject =
            from.and_then(|from| AmqpRoute::subject(from, &key, sender.principal.as_ref()));
        let Some(subject) = subject else {
            return refused(&key, RefusalReason::UnexpectedSubject);
        };
        if !self.filter.matches(&subject) {
            // A binding may let more through than the filter. What none lets through came round the
            // broker's check.
            return match from.is_some_and(|from| self.place.hears(from, &key)) {
                true => None,
                false => refused(&key, RefusalReason::UnexpectedSubject),
            };
        }
        match convert::message_in(subject.clone(), &properties, data, with_reply) {
            Some(message) => Some(Ok((message, sender))),
            None => refused(&subject, RefusalReason::Malformed),
        }
    }

    fn message(
        &self,
        delivery: Delivery,
        with_reply: bool,
    ) -> Option<Result<Message, ReceiveError>> {
        Some(self.read(delivery, with_reply)?.map(|(message, _)| message))
    }
}

/// Whom the broker proved to have sent a message.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    /// Its user.
    pub(crate) user: String,
    /// Whose that is, if it is one of the mesh's.
    pub(crate) principal: Option<Principal>,
}

/// The error of a filter that is heard by nobody but the reader of a queue.
fn unheard(operation: Operation, filter: &Filter) -> TransportError {
    TransportError::new(ErrorKind::Unsupported, operation)
        .about(filter)
        .detail("it goes to a queue by its name, and nobody else hears it")
}
