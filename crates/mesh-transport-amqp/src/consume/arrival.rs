//! What a delivery says, if it is one that this consumer may be given.

use lapin::message::Delivery;
use lapin::types::AMQPValue;
use mesh_core::identity::Principal;
use mesh_core::message::Message;
use mesh_core::port::RefusalReason;
use mesh_core::subject::Subject;
use mesh_core::topology::{AmqpExchange, AmqpRoute, ConsumerRef, MeshSubject, StreamName};

use super::dead;
use crate::convert;
use crate::link::Link;

/// How often a quorum queue has given it to somebody before.
const DELIVERY_COUNT: &str = "x-delivery-count";

/// See the module.
pub(super) enum Arrival {
    Message(Message),
    /// A binding let more through than the consumer selects.
    NotOurs,
    /// Nobody can read it. On which subject it came, where that is one.
    Refused(Option<Subject>, RefusalReason),
}

pub(super) fn read(consumer: &ConsumerRef, link: &Link, came: Delivery) -> Arrival {
    let Delivery { exchange, routing_key, properties, data, .. } = came;
    let Ok(key) = Subject::new(routing_key.as_str()) else {
        return Arrival::Refused(None, RefusalReason::Malformed);
    };
    let refused = |reason| Arrival::Refused(Some(key.clone()), reason);
    let Some(from) = AmqpExchange::from_name(exchange.as_str()) else {
        return refused(RefusalReason::Malformed);
    };
    if consumer.stream == StreamName::EventsDead {
        return match AmqpRoute::subject(from, &key, None) {
            Some(dead) if MeshSubject::stream_of(&dead) == Some(consumer.stream) => {
                Arrival::Message(dead::letter(dead, &key, &properties, data, link))
            }
            _ => refused(RefusalReason::Malformed),
        };
    }
    let Some(user) = properties.user_id() else {
        return refused(RefusalReason::Unproven);
    };
    // Whom a report is from is nowhere but in the name of its sender.
    let sender = match consumer.stream {
        StreamName::Control => Principal::from_amqp_user(user.as_str()),
        _ => None,
    };
    let subject = AmqpRoute::subject(from, &key, sender.as_ref());
    let Some(subject) =
        subject.filter(|subject| MeshSubject::stream_of(subject) == Some(consumer.stream))
    else {
        return refused(RefusalReason::Malformed);
    };
    // Replays share their exchange with events, so a wide binding catches those of others.
    if let Ok(MeshSubject::Replay { consumer: of, .. }) = MeshSubject::parse(&subject)
        && of != consumer.consumer
    {
        return Arrival::NotOurs;
    }
    match convert::message_in(subject, &properties, data, false) {
        Some(message) => Arrival::Message(message),
        None => refused(RefusalReason::Malformed),
    }
}

/// Which try this is, and whether the queue is known to count none.
///
/// A quorum queue says how often it gave the message to somebody, over whatever stands there. A classic queue
/// says only whether it did, and lets pass what the publisher wrote: to somebody whom it gives the message
/// first, that shows.
pub(super) fn attempt(came: &Delivery, uncounted: bool) -> (u32, bool) {
    let headers = came.properties.headers().as_ref();
    let before = headers.and_then(|headers| match headers.inner().get(DELIVERY_COUNT) {
        Some(AMQPValue::LongLongInt(count)) => u32::try_from(*count).ok(),
        Some(AMQPValue::LongInt(count)) => u32::try_from(*count).ok(),
        _ => None,
    });
    let forged = !came.redelivered && before.is_some_and(|count| count > 0);
    let uncounted = uncounted || forged;
    let attempt = match before.filter(|_| !uncounted) {
        Some(count) if came.redelivered => count.max(1).saturating_add(1),
        _ if came.redelivered => 2,
        _ => 1,
    };
    (attempt, uncounted)
}
