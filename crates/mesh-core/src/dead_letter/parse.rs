use super::{DeadLetter, DeadReason};
use crate::message::{HeaderName, Message, names};
use crate::name::ConsumerName;
use crate::percent;
use crate::port::Reason;
use crate::subject::Subject;
use crate::topology::{ConsumerRef, StreamName};

/// Why a message is not a dead letter that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeadLetterError {
    /// A header is not there.
    #[error("header {0} is missing")]
    Missing(HeaderName),
    /// A header says something else than it should.
    #[error("header {0} can't be read")]
    Unreadable(HeaderName),
}

impl DeadLetter {
    /// Reads the `x-dead-*` headers of a dead letter. Only events have dead letters, so the
    /// consumer is one of EVENTS.
    ///
    /// # Errors
    /// [`DeadLetterError`] with the header, the first that is wrong.
    pub fn parse(message: &Message) -> Result<Self, DeadLetterError> {
        let text = |name: HeaderName| match message.headers().value(name.as_str()) {
            None => Err(DeadLetterError::Missing(name)),
            Some(value) => match percent::decode(value) {
                Ok(text) => Ok((name, text.into_owned())),
                Err(_) => Err(DeadLetterError::Unreadable(name)),
            },
        };
        let optional = |name: HeaderName| match text(name) {
            Ok(found) => Ok(Some(found)),
            Err(DeadLetterError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        };
        let number = |name| match optional(name)? {
            None => Ok(None),
            Some((name, text)) => {
                text.parse::<u64>().map(Some).map_err(|_| DeadLetterError::Unreadable(name))
            }
        };
        let subject = match optional(names::DEAD_SUBJECT)? {
            None => None,
            Some((name, text)) => {
                Some(Subject::new(text).map_err(|_| DeadLetterError::Unreadable(name))?)
            }
        };
        let (name, consumer) = text(names::DEAD_CONSUMER)?;
        let consumer =
            ConsumerName::new(consumer).map_err(|_| DeadLetterError::Unreadable(name))?;
        let (name, reason) = text(names::DEAD_REASON)?;
        let reason = DeadReason::ALL
            .into_iter()
            .find(|known| known.as_str() == reason)
            .ok_or(DeadLetterError::Unreadable(name))?;
        let (name, time) = text(names::DEAD_TIME)?;
        let time = time.parse().map_err(|_| DeadLetterError::Unreadable(name))?;
        Ok(Self {
            subject,
            consumer: ConsumerRef::new(StreamName::Events, consumer),
            sequence: number(names::DEAD_SEQUENCE)?,
            deliveries: number(names::DEAD_DELIVERIES)?,
            reason,
            error: optional(names::DEAD_ERROR)?.map(|(_, text)| Reason::new(text)),
            time,
        })
    }
}
