use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};
use mesh_core::dead_letter::{DeadLetter, DeadReason};
use mesh_core::name::ConsumerName;
use mesh_core::port::{Administration, Position, TransportError};
use mesh_core::time::Timestamp;
use mesh_core::topology::StreamName;

use super::super::stranger::is_unsupported;
use super::Alarm;

/// The most letters that are read, newest first.
const MOST: u64 = 10_000;

/// How many are read at a time.
const AT_A_TIME: usize = 32;

/// The dead letters of a bus.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetters {
    /// How many there are. Nothing where they can't be counted.
    pub count: Option<u64>,
    /// How many of them were read: the newest, at most 10 000. Nothing where the broker reads none back.
    pub read: Option<u64>,
    /// Those that were read, by consumer and reason.
    pub by: Vec<Letters>,
    /// When the oldest of those was given up.
    pub oldest: Option<Timestamp>,
    /// How many of those that were read are no letters that this program can read.
    pub unreadable: u64,
    /// How many of those that were read were given up since they were last looked at.
    pub new: u64,
}

/// Dead letters that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Letters {
    /// Whose they are.
    pub consumer: ConsumerName,
    /// Why they were given up.
    pub reason: DeadReason,
    /// How many.
    pub count: u64,
    /// When the oldest was given up.
    pub oldest: Timestamp,
}

pub(super) async fn look(
    administration: &dyn Administration,
    known: Option<Timestamp>,
) -> Result<DeadLetters, TransportError> {
    let state = match administration.inspect(StreamName::EventsDead).await {
        Err(error) if is_unsupported(&error) => return Ok(DeadLetters::default()),
        state => state?,
    };
    let Some(state) = state else { return Ok(DeadLetters::default()) };
    let mut letters = DeadLetters { count: Some(state.messages), ..DeadLetters::default() };
    let (Some(first), Some(last)) = (state.first_sequence, state.last_sequence) else {
        letters.new = state.messages;
        return Ok(letters);
    };
    let first = first.max((last + 1).saturating_sub(MOST));
    let reading = stream::iter(first..=last)
        .map(|sequence| administration.read(StreamName::EventsDead, Position::Sequence(sequence)));
    let mut reading = reading.buffered(AT_A_TIME);
    let mut by: BTreeMap<(ConsumerName, &'static str), Letters> = BTreeMap::new();
    let mut read = 0;
    while let Some(found) = reading.next().await {
        let letter = match found {
            Ok(None) => continue,
            Ok(Some(stored)) => DeadLetter::parse(&stored.message).ok(),
            Err(error) if is_unsupported(&error) => return Ok(letters),
            // It is there, and no message of a mesh.
            Err(error) if error.kind() == mesh_core::port::ErrorKind::Broker => None,
            Err(error) => return Err(error),
        };
        read += 1;
        let Some(DeadLetter { consumer, reason, time, .. }) = letter else {
            letters.unreadable += 1;
            letters.new += 1;
            continue;
        };
        letters.new += u64::from(known.is_none_or(|known| time >= known));
        letters.oldest = Some(letters.oldest.map_or(time, |oldest| oldest.min(time)));
        let consumer = consumer.consumer;
        let alike = by.entry((consumer.clone(), reason.as_str())).or_insert(Letters {
            consumer,
            reason,
            count: 0,
            oldest: time,
        });
        alike.count += 1;
        alike.oldest = alike.oldest.min(time);
    }
    letters.read = Some(read);
    letters.by = by.into_values().collect();
    Ok(letters)
}

impl DeadLetters {
    pub(super) fn alarm(&self) -> Option<Alarm> {
        if self.new == 0 {
            return None;
        }
        let what = match self.new {
            1 => "1 event was given up".to_owned(),
            some => format!("{some} events were given up"),
        };
        let next = "see by consumer and reason what could not be handled, and mend it; `--known-until` with a time \
                    leaves out what was given up before";
        Some(Alarm::new(what, next))
    }
}
