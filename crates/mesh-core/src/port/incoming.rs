use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use sync_wrapper::SyncWrapper;

use super::TransportError;
use crate::subject::Subject;

type Arrivals<T> = dyn Stream<Item = Result<T, ReceiveError>> + Send;

/// What arrives on a subscription: messages, deliveries or calls, and word of anything that
/// happened to the subscription itself.
///
/// `None` means that it was closed on purpose, here. Everything else that ends it is a last
/// [`ReceiveError::Ended`]. Dropping it unsubscribes; what still waits in it is released, and what it has
/// handed on is left to whoever holds it.
pub struct Incoming<T> {
    // Polled through `&mut` alone, so a shared reference to it may cross threads.
    stream: SyncWrapper<Pin<Box<Arrivals<T>>>>,
}

impl<T> Incoming<T> {
    /// For adapters: arrivals as a stream that unsubscribes when it is dropped.
    pub fn new(stream: impl Stream<Item = Result<T, ReceiveError>> + Send + 'static) -> Self {
        Self { stream: SyncWrapper::new(Box::pin(stream)) }
    }

    /// The next arrival.
    pub async fn next(&mut self) -> Option<Result<T, ReceiveError>> {
        poll_fn(|context| self.stream.get_mut().as_mut().poll_next(context)).await
    }
}

impl<T> Stream for Incoming<T> {
    type Item = Result<T, ReceiveError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.stream.get_mut().as_mut().poll_next(context)
    }
}

impl<T> fmt::Debug for Incoming<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").finish_non_exhaustive()
    }
}

/// Something that happened to a subscription in place of an arrival.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiveError {
    /// The reader was too slow for its buffer; more will come.
    #[error("the reader was too slow: {lost} lost")]
    Lagged {
        /// How many messages were dropped since the last one that was read.
        lost: u64,
    },
    /// The connection was away and is back; live messages may have been missed. More will come.
    #[error("the connection was interrupted; live messages may have been missed")]
    Interrupted,
    /// An arrival was refused by the runtime's own rules and was not handed on. More will come.
    #[error("an arrival on {subject} was refused: {reason}")]
    Refused {
        /// The subject it came on.
        subject: Subject,
        /// Why.
        reason: RefusalReason,
    },
    /// An answer that [`Call::answer`](super::Call::answer) had sent did not reach its caller, who waits
    /// in vain. Told to who reads the calls. More will come.
    #[error("an answer to a call of {subject} did not reach its caller")]
    AnswerLost {
        /// What was asked: the subject of the call.
        subject: Subject,
        /// Why: `Denied`, about the reply address.
        #[source]
        error: TransportError,
    },
    /// The subscription is over for this reason; nothing more will come.
    #[error("the subscription ended")]
    Ended(#[source] TransportError),
}

impl ReceiveError {
    /// Whether nothing more will come.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Ended(_))
    }
}

/// Why an arrival was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusalReason {
    /// A call without a reply address.
    #[error("it has no reply address")]
    NoReply,
    /// A call whose reply address is not an inbox that names this responder (protocol §4).
    #[error("its reply address is not an inbox that names this responder")]
    ForeignReply,
    /// A delivery whose subject matches none of the consumer's patterns (protocol §7).
    #[error("its subject matches none of the patterns")]
    UnexpectedSubject,
    /// A durable delivery whose acknowledgement address is not this consumer's (protocol §4).
    #[error("its acknowledgement address is not this consumer's")]
    ForeignAck,
    /// Nothing proves who sent it, where the broker can (protocol §7).
    #[error("nothing proves who sent it")]
    Unproven,
    /// It can't be represented: a header or a subject outside the grammar.
    #[error("it is malformed")]
    Malformed,
}
