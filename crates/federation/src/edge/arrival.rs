use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use mesh_core::guard::Inbound;
use mesh_core::mx::{Decoded, Envelope, LegacyReply, MailboxKind, Profile, principal_key};
use mesh_core::name::RealmName;

use crate::Answers;

/// A message from another realm as the guards see it: decoded, borrowed from the bytes that came, and
/// with all that it says still a claim.
pub struct Arrival<'a> {
    content: Content<'a>,
    profile: Profile,
    mailbox: MailboxKind,
    principal_key: Option<String>,
    bytes: &'a [u8],
    proven: AtomicBool,
    awaited: bool,
}

/// What a mailbox brings.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "made once a message, on the stack")]
pub(super) enum Content<'a> {
    /// A request, an event, or an answer in MXENV/1.
    Envelope(Envelope<'a>),
    /// A legacy reply, which says neither where it goes nor, perhaps, where it comes from.
    Reply(LegacyReply<'a>),
}

impl<'a> Arrival<'a> {
    /// What `decoded` says, which was read from `bytes` and came to `realm`'s mailbox of this kind.
    #[must_use]
    pub fn new(
        decoded: Decoded<'a>,
        bytes: &'a [u8],
        mailbox: MailboxKind,
        realm: &RealmName,
    ) -> Self {
        let profile = decoded.profile();
        let content = match decoded {
            Decoded::LegacyReply(reply) => Content::Reply(reply),
            Decoded::MxEnv(envelope) => Content::Envelope(envelope),
            Decoded::LegacyRequest(request) | Decoded::LegacyEvent(request) => {
                Content::Envelope(request.into_envelope(realm))
            }
        };
        let principal = match &content {
            Content::Envelope(envelope) => envelope.principal.as_ref(),
            Content::Reply(_) => None,
        };
        let principal_key = principal.and_then(principal_key).map(|key| key.into_owned());
        let proven = AtomicBool::new(false);
        Self { content, profile, mailbox, principal_key, bytes, proven, awaited: false }
    }

    /// Notes whether it is the answer that a question in `answers` waits for.
    pub(super) fn look_for_question(&mut self, answers: &Answers) {
        let inbound = self.inbound();
        if inbound.kind.is_answer()
            && let Some(id) = inbound.correlation_id
        {
            self.awaited = answers.awaits(inbound.from_realm, id);
        }
    }

    /// What a guard of the core looks at.
    #[must_use]
    pub fn inbound(&self) -> Inbound<'_> {
        let mut inbound = match &self.content {
            Content::Envelope(envelope) => {
                Inbound::of(envelope, self.profile, self.principal_key.as_deref(), self.bytes.len())
            }
            Content::Reply(reply) => Inbound::of_reply(reply, self.bytes.len()),
        };
        inbound.proven = self.proven.load(Ordering::Relaxed);
        inbound.awaited = self.awaited;
        inbound
    }

    /// Notes that the message is proven to be of the realm that it says: for a guard of the stage
    /// [`Security`](mesh_core::guard::Stage::Security). Guards after it see
    /// [`Inbound::proven`](mesh_core::guard::Inbound::proven).
    pub fn prove(&self) {
        self.proven.store(true, Ordering::Relaxed);
    }

    /// The whole envelope. Nothing for a legacy reply, which is none.
    #[must_use]
    pub fn envelope(&self) -> Option<&Envelope<'a>> {
        match &self.content {
            Content::Envelope(envelope) => Some(envelope),
            Content::Reply(_) => None,
        }
    }

    /// The profile it is written in, told by its shape.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The kind of mailbox that it came in by.
    #[must_use]
    pub fn mailbox(&self) -> MailboxKind {
        self.mailbox
    }

    /// The bytes that came.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn content(&self) -> &Content<'a> {
        &self.content
    }

    pub(super) fn into_content(self) -> Content<'a> {
        self.content
    }
}

/// Shows how it came and how long it is: a body may hold what is not for a log.
impl fmt::Debug for Arrival<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrival")
            .field("profile", &self.profile)
            .field("mailbox", &self.mailbox)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
