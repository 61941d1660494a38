//! Acknowledgement addresses, in the server's two forms (protocol §4).

use super::{AddressError, ConsumerRef, StreamName};
use crate::name::ConsumerName;
use crate::subject::{Filter, Subject};

/// Where a delivery is acknowledged, in either of the server's two forms.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AckAddress {
    /// The consumer whose delivery it is.
    pub consumer: ConsumerRef,
    /// Which try, from 1.
    pub delivered: u64,
    /// The message's number in its stream.
    pub stream_sequence: u64,
    /// The delivery's number in the consumer.
    pub consumer_sequence: u64,
    /// How many messages still wait for the consumer.
    pub pending: u64,
}

impl AckAddress {
    /// What a consumer's reader may publish: both forms with exact token counts; a shorter pattern
    /// let a user acknowledge another stream's message (protocol §4).
    #[must_use]
    pub fn filters(consumer: &ConsumerRef) -> [Filter; 2] {
        let ConsumerRef { stream, consumer } = consumer;
        [
            Filter::from_checked(format!("$JS.ACK.{stream}.{consumer}.*.*.*.*.*")),
            Filter::from_checked(format!("$JS.ACK.*.*.{stream}.{consumer}.*.*.*.*.>")),
        ]
    }

    /// Reads `$JS.ACK.<stream>.<consumer>.<delivered>.<sseq>.<cseq>.<time>.<pending>`, or the same
    /// with `<domain>.<account hash>` after `ACK` and a random token at the end.
    ///
    /// # Errors
    /// [`AddressError::NotAnAck`].
    pub fn parse(subject: &Subject) -> Result<Self, AddressError> {
        Self::read(subject).ok_or(AddressError::NotAnAck)
    }

    fn read(subject: &Subject) -> Option<Self> {
        let rest = subject.as_str().strip_prefix(ACK)?;
        let tokens = rest.split('.').count();
        let mut names = rest.split('.').skip(if tokens == FIRST_FORM { 0 } else { 2 });
        let consumer = ConsumerRef::new(
            StreamName::from_name(names.next()?)?,
            ConsumerName::new(names.next()?).ok()?,
        );
        let AckNumbers { delivered, stream_sequence, consumer_sequence, pending, .. } =
            AckPrefix::of(&consumer).read(subject.as_str())?;
        Some(Self { consumer, delivered, stream_sequence, consumer_sequence, pending })
    }

    /// The first form, as the server writes it; `time` in nanoseconds since the Unix epoch.
    #[must_use]
    pub fn to_subject(&self, time: u64) -> Subject {
        let ConsumerRef { stream, consumer } = &self.consumer;
        let Self { delivered, stream_sequence, consumer_sequence, pending, .. } = self;
        Subject::from_checked(format!(
            "$JS.ACK.{stream}.{consumer}.{delivered}.{stream_sequence}.{consumer_sequence}.{time}.{pending}"
        ))
    }
}

const ACK: &str = "$JS.ACK.";
/// How many tokens follow `$JS.ACK.` in the first form.
const FIRST_FORM: usize = 7;

/// How the acknowledgement addresses of one consumer begin. A delivery whose address begins otherwise is
/// not that consumer's, whoever sent it (protocol §4).
///
/// ```
/// use mesh_core::name::ConsumerName;
/// use mesh_core::topology::{AckPrefix, ConsumerRef, StreamName};
///
/// let mail = ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_mail")?);
/// let prefix = AckPrefix::of(&mail);
/// let numbers = prefix.read("$JS.ACK.EVENTS.n1_mail.2.17.9.1700000000000000000.0");
/// assert_eq!(numbers.map(|numbers| (numbers.delivered, numbers.stream_sequence)), Some((2, 17)));
/// assert!(prefix.read("$JS.ACK.EVENTS.n1_crm.2.17.9.1700000000000000000.0").is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AckPrefix(String);

/// What an acknowledgement address says of its delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is what the address holds")]
pub struct AckNumbers {
    /// Which try, from 1.
    pub delivered: u64,
    /// The message's number in its stream.
    pub stream_sequence: u64,
    /// The delivery's number in the consumer.
    pub consumer_sequence: u64,
    /// When the stream stored the message, in nanoseconds since the Unix epoch: with the number it tells
    /// messages apart also where the stream was made anew.
    pub time: u64,
    /// How many messages still wait for the consumer.
    pub pending: u64,
}

impl AckPrefix {
    /// That of `consumer`.
    #[must_use]
    pub fn of(consumer: &ConsumerRef) -> Self {
        let ConsumerRef { stream, consumer } = consumer;
        Self(format!("{stream}.{consumer}."))
    }

    /// An address of this consumer that belongs to no delivery: whoever may acknowledge may ask there
    /// whether the consumer is. Its number is the highest that the server reads, which no message reaches;
    /// to 0 it gives no answer.
    #[must_use]
    pub fn of_no_delivery(&self) -> Subject {
        Subject::from_checked(format!("{ACK}{}1.{}.0.0.0", self.0, i64::MAX))
    }

    /// Where a delivery is settled of which only the numbers are known: it was given to somebody who could
    /// not read it. The first form, which the server takes whichever it writes.
    #[must_use]
    pub fn of_unread(&self, stream_sequence: u64, consumer_sequence: u64) -> Subject {
        Subject::from_checked(format!("{ACK}{}1.{stream_sequence}.{consumer_sequence}.0.0", self.0))
    }

    /// What `address` says, if it is this consumer's, in either form.
    #[must_use]
    pub fn read(&self, address: &str) -> Option<AckNumbers> {
        let rest = address.strip_prefix(ACK)?;
        // The second form has domain and account hash before the names and a random token at the end.
        // A stream can't be named like a domain and hash that make the first form fit, since the count
        // of what follows tells them apart.
        let first = rest.strip_prefix(self.0.as_str()).and_then(|rest| numbers(rest, false));
        first.or_else(|| {
            let (_domain, rest) = rest.split_once('.')?;
            let (_hash, rest) = rest.split_once('.')?;
            numbers(rest.strip_prefix(self.0.as_str())?, true)
        })
    }
}

/// `<delivered>.<sseq>.<cseq>.<time>.<pending>`, and in the second form more.
fn numbers(text: &str, more: bool) -> Option<AckNumbers> {
    let mut tokens = text.split('.');
    let mut number = || tokens.next()?.parse::<u64>().ok();
    let (delivered, stream_sequence, consumer_sequence) = (number()?, number()?, number()?);
    let (time, pending) = (number()?, number()?);
    let rest = tokens.next();
    let complete = if more { rest.is_none_or(|token| !token.is_empty()) } else { rest.is_none() };
    complete.then_some(AckNumbers { delivered, stream_sequence, consumer_sequence, time, pending })
}
