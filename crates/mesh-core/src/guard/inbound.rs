use std::time::Duration;

use crate::mx::{Envelope, LegacyReply, MsgType, Profile};
use crate::port::Clock;
use crate::time::Timestamp;

/// What the guards look at: an envelope that came in from another realm, of whichever profile,
/// borrowed from where it was decoded.
///
/// What it says is a claim. [`from_realm`](Self::from_realm) is what the sender says of itself, unless
/// it is [`proven`](Self::proven) or the backbone vouches for it.
///
/// ```
/// use mesh_core::guard::Inbound;
/// use mesh_core::mx::MsgType;
///
/// let mut inbound = Inbound::new(MsgType::Cmd);
/// inbound.from_realm = Some("acme.com");
/// inbound.to_path = Some("mail.accepts.send");
/// inbound.msg_id = Some("m-1");
/// assert!(inbound.kind.is_answered());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inbound<'a> {
    /// What is asked or told.
    pub kind: MsgType,
    /// The name of the envelope's profile, for example `mxenv1`; empty where unknown.
    pub profile: &'a str,
    /// The realm that it says it comes from. Some legacy replies say nothing.
    pub from_realm: Option<&'a str>,
    /// The realm that it is meant for, where it says so.
    pub to_realm: Option<&'a str>,
    /// The path it will be routed to, in the form in which it will be routed.
    pub to_path: Option<&'a str>,
    /// The realm that the answer shall go to, where it says so.
    pub reply_to_realm: Option<&'a str>,
    /// Its id.
    pub msg_id: Option<&'a str>,
    /// The id that ties an answer to its request.
    pub correlation_id: Option<&'a str>,
    /// The person or service it speaks for, as one text (protocol §8).
    pub principal_key: Option<&'a str>,
    /// When it was sent, by the sender's clock.
    pub timestamp: Option<Timestamp>,
    /// How long after [`timestamp`](Self::timestamp) it is worth handling, in milliseconds. Not a
    /// hop count.
    pub ttl_ms: Option<u64>,
    /// The size of the whole encoded envelope.
    pub encoded_bytes: usize,
    /// Whether a security guard has found a proof that this message is of
    /// [`from_realm`](Self::from_realm), as it stands here. Guards of later stages see it.
    pub proven: bool,
    /// Whether it is the answer that a question of this realm's waits for. How many of those come is
    /// this realm's own choice, so they take no token of the rate and no mark against replays: the
    /// first ends the question, and the next is no longer awaited. The gateway says so, not the message.
    pub awaited: bool,
}

impl Inbound<'_> {
    /// An envelope of this kind that says nothing else; set the fields that it has.
    #[must_use]
    pub const fn new(kind: MsgType) -> Self {
        Self {
            kind,
            profile: "",
            from_realm: None,
            to_realm: None,
            to_path: None,
            reply_to_realm: None,
            msg_id: None,
            correlation_id: None,
            principal_key: None,
            timestamp: None,
            ttl_ms: None,
            encoded_bytes: 0,
            proven: false,
            awaited: false,
        }
    }
}

impl<'a> Inbound<'a> {
    /// What `envelope` says, which came in `profile` as `encoded_bytes` bytes. The key of its
    /// principal is made by [`principal_key`](crate::mx::principal_key) and passed in.
    #[must_use]
    pub fn of(
        envelope: &'a Envelope<'_>,
        profile: Profile,
        principal_key: Option<&'a str>,
        encoded_bytes: usize,
    ) -> Self {
        Self {
            kind: envelope.kind,
            profile: profile.name(),
            from_realm: Some(envelope.from.realm.as_str()),
            to_realm: Some(envelope.to.realm.as_str()),
            to_path: Some(envelope.to.path.as_str()),
            reply_to_realm: envelope.reply_to.as_ref().map(|reply| reply.realm.as_str()),
            msg_id: envelope.msg_id.as_deref(),
            correlation_id: envelope.correlation_id.as_deref(),
            principal_key,
            timestamp: envelope.timestamp.map(moment),
            ttl_ms: envelope.ttl_ms,
            encoded_bytes,
            proven: false,
            awaited: false,
        }
    }
}

impl<'a> Inbound<'a> {
    /// What a legacy reply says, which came as `encoded_bytes` bytes: an answer, of a realm perhaps,
    /// to nowhere but the mailbox that it came in by.
    #[must_use]
    pub fn of_reply(reply: &'a LegacyReply<'_>, encoded_bytes: usize) -> Self {
        Self {
            profile: Profile::Legacy.name(),
            from_realm: reply.from_realm.as_ref().map(AsRef::as_ref),
            correlation_id: Some(&reply.correlation_id),
            timestamp: reply.timestamp.map(moment),
            encoded_bytes,
            ..Self::new(if reply.ok { MsgType::Result } else { MsgType::Nack })
        }
    }
}

impl<'a> Inbound<'a> {
    /// By what a repetition is told from what is new (protocol §8): its `msgId`, else its `correlationId`.
    #[must_use]
    pub fn replay_id(&self) -> Option<ReplayId<'a>> {
        let present = |id: &&str| !id.is_empty();
        match (self.msg_id.filter(present), self.correlation_id.filter(present)) {
            (Some(id), _) => Some(ReplayId::Message(id)),
            (None, Some(id)) if self.kind.is_answer() => Some(ReplayId::Answer(id)),
            (None, Some(id)) => Some(ReplayId::Message(id)),
            (None, None) => None,
        }
    }
}

/// By what a repetition is told from what is new. The two are apart: we chose the id of an answer, and its
/// realm may have chosen the same one for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "whoever marks must keep each apart")]
pub enum ReplayId<'a> {
    /// The id of a message, chosen by its sender.
    Message(&'a str),
    /// The correlation id of an answer that has no id of its own.
    Answer(&'a str),
}

/// The time of one check, by both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "there are two clocks")]
pub struct Now {
    /// The wall clock: compared with what a sender wrote. It may jump.
    pub wall: Timestamp,
    /// Time since an arbitrary beginning, never going back: what marks and limits measure with, so
    /// that a corrected wall clock neither forgets a mark nor refills a bucket.
    pub monotonic: Duration,
}

impl Now {
    /// What `clock` shows.
    #[must_use]
    pub fn of(clock: &(impl Clock + ?Sized)) -> Self {
        Self { wall: clock.now(), monotonic: clock.monotonic() }
    }

    /// Measured time in nanoseconds, held below a quarter of what 64 bits can count (146 years),
    /// so that sums with a lifetime or a burst don't overflow.
    pub(super) fn nanos(self) -> u64 {
        const MOST: u64 = u64::MAX / 4;
        u64::try_from(self.monotonic.as_nanos()).map_or(MOST, |nanos| nanos.min(MOST))
    }
}

/// A sender's count of milliseconds; one beyond what a [`Timestamp`] holds is its latest.
fn moment(millis: u64) -> Timestamp {
    i64::try_from(millis).map_or(Timestamp::MAX, Timestamp::from_millis)
}
