use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use mesh_core::message::Message;
use mesh_core::mx::{Answer, AnswerRoute, MailboxKind, Profile, ReplyId};
use mesh_core::name::RealmName;

use super::passage::Passage;
use super::pending::Slot;

/// What a gateway is to do about one message that came in by a mailbox. There is no other: whatever
/// the bytes, it publishes to the mailbox of the realm that they claim to come from, or inside its own
/// realm, or nowhere.
#[derive(Debug)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "who drives an edge has to do each")]
pub enum Reaction<'a> {
    /// Nothing: it was dropped.
    Drop(Dropped),
    /// Refuse it: the answer is written already.
    Answer(Outgoing),
    /// Ask a component, and wait for its reply.
    Ask(Ask<'a>),
    /// Say an event inside the realm; nobody is answered.
    Tell(Tell<'a>),
    /// It answers a question of this realm's.
    Settle(Answer<'a>),
    /// A guard has to wait before it can say: go on with [`Waiting::proceed`](super::Waiting).
    Wait(super::Waiting<'a>),
}

/// A message that was dropped without a word to its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Who dropped it: a guard, `decode`, or `route` where there was no way to go.
    pub guard: &'static str,
    /// Why.
    pub reason: Cow<'static, str>,
}

/// A request for a component of the realm. Its place in the table of pending requests is taken before
/// this is given out, so that no reply can be too early.
///
/// Publish [`message`](Self::message); where that fails, [`Edge::unsent`](super::Edge::unsent).
#[derive(Debug)]
#[must_use]
#[non_exhaustive]
pub struct Ask<'a> {
    /// Tells its reply topic from all others.
    pub id: ReplyId,
    /// The internal request, to `mx/1/<local>/<toPath>`.
    pub message: Message,
    pub(super) passage: Box<Passage<'a>>,
}

/// An event for the inside of the realm: the bare body, to `mx/1/<local>/<toPath>`.
///
/// Publish [`message`](Self::message); where that fails, [`Edge::untold`](super::Edge::untold).
#[derive(Debug)]
#[must_use]
#[non_exhaustive]
pub struct Tell<'a> {
    /// The event.
    pub message: Message,
    pub(super) passage: Box<Passage<'a>>,
}

/// An answer on its way to another realm's mailbox. It holds the request's place in the limits on
/// pending requests until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Outgoing {
    pub(super) route: AnswerRoute,
    pub(super) mailbox: MailboxKind,
    pub(super) bytes: Bytes,
    pub(super) slot: Option<Slot>,
    /// When its request came in, by the measured clock.
    pub(super) since: Duration,
}

impl Outgoing {
    /// Whose mailbox it goes to: the realm that the request said it came from.
    #[must_use]
    pub fn realm(&self) -> &RealmName {
        self.route.realm()
    }

    /// The kind of mailbox, which is the one that the request came in by.
    #[must_use]
    pub fn mailbox(&self) -> MailboxKind {
        self.mailbox
    }

    /// The profile that it is written in.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.route.profile()
    }

    /// The answer, in the profile of the request.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The message to publish.
    #[must_use]
    pub fn message(&self) -> Message {
        Message::new(self.mailbox.subject(self.realm()), self.bytes.clone())
    }
}
