//! Dead letters: what a consumer could not handle, kept with the reason, and sent back to it when
//! somebody asks for that (protocol §2).
//!
//! ```
//! use mesh_core::dead_letter::{DeadLetter, DeadReason};
//! use mesh_core::message::Message;
//! use mesh_core::name::ConsumerName;
//! use mesh_core::port::Limits;
//! use mesh_core::subject::Subject;
//! use mesh_core::time::Timestamp;
//! use mesh_core::topology::{ConsumerRef, StreamName};
//!
//! let event = Message::new(Subject::new("mesh.events.mail.sent")?, "{}")
//!     .with_header("x-event-id".parse()?, "e-1".parse()?);
//! let letter = DeadLetter {
//!     subject: Some(event.subject().clone()),
//!     consumer: ConsumerRef::new(StreamName::Events, ConsumerName::new("n1_audit")?),
//!     sequence: Some(7),
//!     deliveries: Some(5),
//!     reason: DeadReason::MaxDeliver,
//!     error: None,
//!     time: Timestamp::from_millis(0),
//! };
//! let id = letter.publish_id(Timestamp::from_millis(12));
//! assert_eq!(id.as_ref().map(|id| id.as_str()), Some("12.n1_audit.7"));
//!
//! let message = letter.to_message(Some(&event), &Limits::default());
//! assert_eq!(message.subject().as_str(), "mesh.events.dead");
//! assert_eq!(DeadLetter::parse(&message)?, letter);
//!
//! let replay = DeadLetter::replay(&message)?;
//! assert_eq!(replay.subject().as_str(), "mesh.replay.n1_audit.mail.sent");
//! assert_eq!(replay.headers().value("x-event-id"), Some("e-1"));
//! assert_eq!(replay.headers().value("x-dead-reason"), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod headers;
mod parse;
mod replay;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::message::{Headers, Message, MessageParts, PublishId};
use crate::port::{Limits, Reason};
use crate::subject::Subject;
use crate::time::Timestamp;
use crate::topology::ConsumerRef;

pub use parse::DeadLetterError;
pub use replay::ReplayError;

/// What is known of a delivery that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "adapters build it")]
pub struct DeadLetter {
    /// The subject that the message was first published to; nothing where the stream has let the
    /// message go. Of a replay it is the event's own.
    pub subject: Option<Subject>,
    /// Who could not handle it.
    pub consumer: ConsumerRef,
    /// The message's number in its stream, where messages are numbered.
    pub sequence: Option<u64>,
    /// How often it was delivered, where the broker tells.
    pub deliveries: Option<u64>,
    /// Why it was given up.
    pub reason: DeadReason,
    /// What the handler said.
    pub error: Option<Reason>,
    /// When it was given up.
    pub time: Timestamp,
}

/// Why a delivery was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeadReason {
    /// It was tried as often as its consumer allows.
    MaxDeliver,
    /// Its handler gave it up.
    Terminated,
    /// Its body can't be read.
    Undecodable,
    /// It is not from whom it says (protocol §3).
    Unverifiable,
    /// Its stream had let it go before it could be read.
    AgedOut,
}

impl DeadReason {
    const ALL: [Self; 5] =
        [Self::MaxDeliver, Self::Terminated, Self::Undecodable, Self::Unverifiable, Self::AgedOut];

    /// As `x-dead-reason` says it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxDeliver => "max-deliver",
            Self::Terminated => "terminated",
            Self::Undecodable => "undecodable",
            Self::Unverifiable => "unverifiable",
            Self::AgedOut => "aged-out",
        }
    }
}

impl fmt::Display for DeadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl DeadLetter {
    /// The id that keeps it from being appended twice: `<epoch>.<consumer>.<sequence>`, the epoch
    /// in milliseconds. None without a sequence; the names of this crate are short enough for one.
    #[must_use]
    pub fn publish_id(&self, epoch: Timestamp) -> Option<PublishId> {
        let epoch = epoch.as_millis();
        let consumer = &self.consumer.consumer;
        let sequence = self.sequence?;
        PublishId::new(format!("{epoch}.{consumer}.{sequence}")).ok()
    }

    /// The message to append to the dead letters: body and application headers of `original`
    /// unchanged, without those that steer a broker or a replay, plus the `x-dead-*` ones.
    ///
    /// What exceeds `limits` loses its optional headers first; if that does not do, or `original`
    /// is gone, only a reference is left: no body, and none of its headers.
    #[must_use]
    pub fn to_message(&self, original: Option<&Message>, limits: &Limits) -> Message {
        let reference = || self.assemble(Headers::default(), bytes::Bytes::new(), true);
        let Some(original) = original else {
            return reference();
        };
        let body = original.payload();
        let whole = self.assemble(headers::application(original), body.clone(), true);
        if whole.check(limits).is_ok() {
            return whole;
        }
        let required = self.assemble(headers::required(original), body.clone(), false);
        if required.check(limits).is_ok() {
            return required;
        }
        reference()
    }

    fn assemble(&self, mut headers: Headers, payload: bytes::Bytes, with_error: bool) -> Message {
        self.describe(&mut headers, with_error);
        MessageParts {
            subject: Subject::from_checked("mesh.events.dead".to_owned()),
            reply: None,
            headers,
            payload,
        }
        .into()
    }
}
