//! What travels: a subject, a reply address, headers and bytes.

mod check;
mod header;
mod headers;
mod publish_id;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::subject::Subject;

pub(crate) use check::belongs_to_broker;
pub use check::{MessageProblem, is_reserved};
pub use header::{HeaderError, HeaderName, HeaderProblem, HeaderValue, names};
pub use headers::Headers;
pub use publish_id::{PublishId, PublishIdError};

/// One message. A handle: cloning shares subject, headers and payload, so one message can be
/// given to many readers for the price of a reference count.
///
/// ```
/// use mesh_core::message::{HeaderName, HeaderValue, Message};
/// use mesh_core::subject::Subject;
///
/// let message = Message::new(Subject::new("mesh.events.mail.sent")?, "{}")
///     .with_header(HeaderName::new("x-event-id")?, HeaderValue::new("1")?);
/// assert_eq!(message.headers().value("x-event-id"), Some("1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Message(Arc<MessageParts>);

/// The parts of a [`Message`].
#[derive(Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a message has these four parts and no more")]
pub struct MessageParts {
    /// Where it goes.
    pub subject: Subject,
    /// Where an answer goes, if one is wanted. Never an identity.
    pub reply: Option<Subject>,
    /// Headers, in the order they were set.
    pub headers: Headers,
    /// The body.
    pub payload: Bytes,
}

impl Message {
    /// A message without headers and without a reply address.
    #[must_use]
    pub fn new(subject: Subject, payload: impl Into<Bytes>) -> Self {
        MessageParts { subject, reply: None, headers: Headers::default(), payload: payload.into() }
            .into()
    }

    /// The same message with this reply address.
    #[must_use]
    pub fn with_reply(mut self, reply: Subject) -> Self {
        Arc::make_mut(&mut self.0).reply = Some(reply);
        self
    }

    /// The same message with one header more; a header of this very name is replaced.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        Arc::make_mut(&mut self.0).headers.set(name, value);
        self
    }

    /// The same message with these headers in place of its own.
    #[must_use]
    pub fn with_headers(mut self, headers: Headers) -> Self {
        Arc::make_mut(&mut self.0).headers = headers;
        self
    }

    /// Where it goes.
    #[must_use]
    pub fn subject(&self) -> &Subject {
        &self.0.subject
    }

    /// Where an answer goes, if one is wanted.
    #[must_use]
    pub fn reply(&self) -> Option<&Subject> {
        self.0.reply.as_ref()
    }

    /// Its headers.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.0.headers
    }

    /// Its body.
    #[must_use]
    pub fn payload(&self) -> &Bytes {
        &self.0.payload
    }

    /// The parts, without a copy where nobody else holds the message.
    #[must_use]
    pub fn into_parts(self) -> MessageParts {
        Arc::unwrap_or_clone(self.0)
    }
}

impl From<MessageParts> for Message {
    fn from(parts: MessageParts) -> Self {
        Self(Arc::new(parts))
    }
}

/// Shows subject, reply, header names and the payload's length: values and bodies may be secret.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for MessageParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("subject", &self.subject.as_str())
            .field("reply", &self.reply.as_ref().map(Subject::as_str))
            .field("headers", &self.headers)
            .field("payload_bytes", &self.payload.len())
            .finish()
    }
}
