use super::{HeaderName, Message, names};
use crate::port::Limits;

/// Why a message can't be sent on any transport.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageProblem {
    /// The payload exceeds the broker's limit.
    #[error("payload of {found} bytes, at most {max} are allowed")]
    Payload {
        /// The most bytes allowed.
        max: usize,
        /// The bytes found.
        found: usize,
    },
    /// The headers together exceed the broker's limit.
    #[error("headers of {found} bytes, at most {max} are allowed")]
    Headers {
        /// The most bytes allowed.
        max: usize,
        /// The bytes found.
        found: usize,
    },
    /// A header stands twice; AMQP can't carry that.
    #[error("header {name:?} stands more than once")]
    RepeatedHeader {
        /// The header's name.
        name: String,
    },
    /// A reply address on a message that must have a receiver.
    #[error("a message that must have a receiver brings no reply address")]
    ReplyAddress,
    /// A header that a broker acts on and an application may not set.
    #[error("header {name:?} belongs to the broker")]
    BrokerHeader {
        /// The header's name.
        name: String,
    },
}

impl MessageProblem {
    /// Whether it is about size (the error kind is then `TooLarge`, else `Invalid`).
    #[must_use]
    pub fn is_size(&self) -> bool {
        matches!(self, Self::Payload { .. } | Self::Headers { .. })
    }
}

/// Headers that a broker sets or acts on, in any case: JetStream's, and the ones RabbitMQ routes or
/// counts by. Nobody sends one, and whoever reads a message passes over them.
pub(crate) fn belongs_to_broker(name: &str) -> bool {
    let prefixed = |prefix: &str| {
        name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let is = |whole: &str| name.eq_ignore_ascii_case(whole);
    // Each message's headers come by here, and the first letter settles most.
    match name.as_bytes().first() {
        Some(b'n' | b'N') => prefixed("nats-"),
        Some(b's' | b'S') => is("status"),
        Some(b'c' | b'C') => is("cc"),
        Some(b'b' | b'B') => is("bcc"),
        Some(b'x' | b'X') => is("x-death") || is("x-delivery-count") || prefixed("x-first-death-"),
        _ => false,
    }
}

/// The two that a responder sets, to say that a tool failed (protocol §6).
fn is_service_error(name: &str) -> bool {
    let is = |own: &HeaderName| name.eq_ignore_ascii_case(own.as_str());
    is(&names::SERVICE_ERROR) || is(&names::SERVICE_ERROR_CODE)
}

/// Whether a header of this name is the broker's alone: a sender may not set it, and what arrives with it
/// is not the sender's word. The two of an error answer are no broker's (protocol §6).
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    belongs_to_broker(name) && !is_service_error(name)
}

impl Message {
    /// Checks what every transport refuses alike, before anything is on the wire.
    ///
    /// # Errors
    /// [`MessageProblem`], the first found.
    pub fn check(&self, limits: &Limits) -> Result<(), MessageProblem> {
        let found = self.payload().len();
        if found > limits.max_payload {
            return Err(MessageProblem::Payload { max: limits.max_payload, found });
        }
        if self.headers().is_empty() {
            return Ok(());
        }
        let found = self.headers().wire_bytes();
        if found > limits.max_header_bytes {
            return Err(MessageProblem::Headers { max: limits.max_header_bytes, found });
        }
        if let Some(name) = self.headers().repeated() {
            return Err(MessageProblem::RepeatedHeader { name: name.to_string() });
        }
        match self.headers().iter().find(|(name, _)| is_reserved(name)) {
            Some((name, _)) => Err(MessageProblem::BrokerHeader { name: name.to_owned() }),
            None => Ok(()),
        }
    }
}
