use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use crate::message::{Message, MessageProblem, PublishId};
use crate::name::{ConsumerName, NameError, NameProblem};
use crate::subject::Filter;
use crate::topology::ConsumerRules;

/// How a live message is published.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct PublishOptions {
    /// Refuse with `NoResponders` unless somebody receives it ([`ReceiverCheck`](super::Capability::ReceiverCheck)).
    pub require_receiver: bool,
    /// How long to wait for the broker. 5 s unless told.
    pub timeout: Duration,
}

impl Default for PublishOptions {
    fn default() -> Self {
        Self { require_receiver: false, timeout: Duration::from_secs(5) }
    }
}

impl PublishOptions {
    /// Checks what every transport refuses alike about `message` published this way, beyond
    /// [`Message::check`].
    ///
    /// # Errors
    /// [`MessageProblem::ReplyAddress`].
    pub fn check(&self, message: &Message) -> Result<(), MessageProblem> {
        if self.require_receiver && message.reply().is_some() {
            return Err(MessageProblem::ReplyAddress);
        }
        Ok(())
    }
}

/// How a live subscription is made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct SubscribeOptions {
    /// Share the messages with the other members of this group ([`QueueGroups`](super::Capability::QueueGroups)).
    pub group: Option<QueueGroup>,
    /// How many messages may wait for the reader. 1024 unless told.
    pub buffer: NonZeroUsize,
    /// How long to wait for the broker. 5 s unless told.
    pub timeout: Duration,
}

impl Default for SubscribeOptions {
    fn default() -> Self {
        Self { group: None, buffer: nonzero(1024), timeout: Duration::from_secs(5) }
    }
}

/// How calls are served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct ServeOptions {
    /// Share the calls with the other members of this group. `serve` unless told.
    pub group: QueueGroup,
    /// How many calls may wait for the reader. 1024 unless told.
    pub buffer: NonZeroUsize,
    /// How long to wait for the broker. 5 s unless told.
    pub timeout: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self { group: QueueGroup::serve(), buffer: nonzero(1024), timeout: Duration::from_secs(5) }
    }
}

/// How a message is appended to a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct AppendOptions {
    /// Names this append, so that a repeat is recognised where the broker can.
    pub id: Option<PublishId>,
    /// Refuse with `Unsupported` where the broker can't recognise a repeat
    /// ([`Deduplication`](super::Capability::Deduplication)).
    pub require_deduplication: bool,
    /// The sequence that the last message of this subject must have, 0 for none: else `Conflict`
    /// ([`Sequences`](super::Capability::Sequences)).
    pub expected_last: Option<u64>,
    /// How long to wait for the broker to have it. 5 s unless told.
    pub timeout: Duration,
}

impl Default for AppendOptions {
    fn default() -> Self {
        Self {
            id: None,
            require_deduplication: false,
            expected_last: None,
            timeout: Duration::from_secs(5),
        }
    }
}

/// How a durable consumer is read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct ConsumeOptions {
    /// What may arrive: a delivery whose subject matches none of these is refused and told as
    /// [`ReceiveError::Refused`](super::ReceiveError::Refused). Empty: whatever the consumer selects.
    pub patterns: Vec<Filter>,
    /// How many deliveries may be unsettled at a time. 50 unless told.
    pub in_flight: NonZeroUsize,
    /// What the consumer was asserted with, where that is not [`ConsumerRules::of`] its stream: who
    /// reads a consumer has no right to ask the broker.
    pub rules: Option<ConsumerRules>,
    /// How long to wait for the broker. 5 s unless told.
    pub timeout: Duration,
}

impl Default for ConsumeOptions {
    fn default() -> Self {
        Self {
            patterns: Vec::new(),
            in_flight: nonzero(50),
            rules: None,
            timeout: Duration::from_secs(5),
        }
    }
}

const fn nonzero(value: usize) -> NonZeroUsize {
    match NonZeroUsize::new(value) {
        Some(value) => value,
        None => NonZeroUsize::MIN,
    }
}

/// The name under which subscribers share messages: 1 to 127 of `A–Z a–z 0–9 - _`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueGroup(Arc<str>);

impl QueueGroup {
    /// Checks `text`.
    ///
    /// # Errors
    /// [`NameError`] with the character and its byte offset.
    pub fn new(text: impl AsRef<str>) -> Result<Self, NameError> {
        let text = text.as_ref();
        let refused = |problem| Err(NameError { kind: "queue group", problem });
        if text.is_empty() {
            return refused(NameProblem::Empty { offset: 0 });
        }
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if let Some((offset, found)) = text.char_indices().find(|(_, c)| !allowed(*c)) {
            return refused(NameProblem::Character { found, offset });
        }
        if text.len() > 127 {
            return refused(NameProblem::TooLong { max: 127, found: text.len() });
        }
        Ok(Self(Arc::from(text)))
    }

    /// The group that serves tools (protocol §2).
    #[must_use]
    pub fn serve() -> Self {
        Self(Arc::from("serve"))
    }

    /// The group of a durable consumer's readers: the consumer's name.
    #[must_use]
    pub fn of_consumer(consumer: &ConsumerName) -> Self {
        Self(Arc::from(consumer.as_str()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for QueueGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
