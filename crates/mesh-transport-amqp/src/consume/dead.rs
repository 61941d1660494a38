//! Dead letters, from what the broker recorded (`x-death`) and from nothing that a publisher wrote.
//!
//! The broker appends a message that was given up to `mesh.events.dead` under its own key, with a row for
//! its death at the head of `x-death`. A publisher could have sent such a row along: then the broker keeps
//! what else stands in it, but queue and reason are those by which it found the row. So these two are
//! believed, and the key; the time only where the row says no other origin than the message's own.

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use mesh_core::dead_letter::{DeadLetter, DeadReason};
use mesh_core::message::Message;
use mesh_core::subject::Subject;
use mesh_core::time::Timestamp;
use mesh_core::topology::{AmqpExchange, AmqpRoute, ConsumerRef};

use crate::convert;
use crate::link::Link;

/// The key of what is appended to the dead letters by somebody who may.
const APPENDED: &str = "dead";

/// A letter as the readers of the dead letters are given it.
pub(super) fn letter(
    dead: Subject,
    key: &Subject,
    properties: &BasicProperties,
    data: Vec<u8>,
    link: &Link,
) -> Message {
    let message = |subject| {
        let headers = convert::headers_in(properties);
        Message::new(subject, data).with_headers(headers)
    };
    let row = properties.headers().as_ref().and_then(latest);
    let Some((row, subject)) = row.zip(AmqpRoute::subject(AmqpExchange::Events, key, None)) else {
        let mut whole = message(dead);
        if key.as_str() != APPENDED {
            // Nobody who may append it sent it: what it says of its death is a stranger's.
            let mut headers = whole.headers().clone();
            headers.retain(|name, _| !is_about_death(name));
            whole = whole.with_headers(headers);
        }
        return whole;
    };
    let now = link.clock.now();
    let letter = DeadLetter {
        subject: Some(subject.clone()),
        consumer: row.consumer.clone(),
        sequence: None,
        deliveries: None,
        reason: row.reason,
        error: None,
        time: row.time_of(key).filter(|time| *time <= now).unwrap_or(now),
    };
    letter.to_message(Some(&message(subject)), link.capabilities.limits())
}

fn is_about_death(name: &str) -> bool {
    name.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("x-dead-"))
}

/// What the broker recorded of a death.
struct Row {
    consumer: ConsumerRef,
    reason: DeadReason,
    time: Option<Timestamp>,
    key: Option<String>,
}

impl Row {
    /// When it was, if nobody else has written the row.
    fn time_of(&self, key: &Subject) -> Option<Timestamp> {
        self.time.filter(|_| self.key.as_deref() == Some(key.as_str()))
    }
}

/// The latest death, if it is that of a module's event.
fn latest(headers: &FieldTable) -> Option<Row> {
    let Some(AMQPValue::FieldArray(rows)) = headers.inner().get("x-death") else { return None };
    let Some(AMQPValue::FieldTable(row)) = rows.as_slice().first() else { return None };
    let row = row.inner();
    let reason = match text(row.get("reason")?)?.as_str() {
        "delivery_limit" => DeadReason::MaxDeliver,
        "rejected" => DeadReason::Terminated,
        // Its time was over, or there was no room for it.
        "expired" | "maxlen" => DeadReason::AgedOut,
        _ => return None,
    };
    let time = match row.get("time") {
        Some(AMQPValue::Timestamp(seconds)) => {
            i64::try_from(*seconds).ok().and_then(|seconds| seconds.checked_mul(1000))
        }
        _ => None,
    };
    let key = match row.get("routing-keys") {
        Some(AMQPValue::FieldArray(keys)) => keys.as_slice().first().and_then(text),
        _ => None,
    };
    Some(Row {
        consumer: ConsumerRef::of_amqp_events(&text(row.get("queue")?)?)?,
        reason,
        time: time.map(Timestamp::from_millis),
        key,
    })
}

fn text(value: &AMQPValue) -> Option<String> {
    match value {
        AMQPValue::LongString(text) => String::from_utf8(text.as_bytes().to_vec()).ok(),
        AMQPValue::ShortString(text) => Some(text.to_string()),
        _ => None,
    }
}
