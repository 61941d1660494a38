use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mesh_core::message::Message;
use mesh_core::mx::{Envelope, MailboxKind, Profile, Shard};
use mesh_core::name::RealmName;
use mesh_core::port::{Capability, Connection, ErrorKind, PublishOptions};

use super::{Direct, DirectErrorKind, SendError, Sign};

/// Brings envelopes to other realms: the direct way where there is one, else the backbone (protocol §8,
/// "Finding a realm"). Clones are the same.
///
/// One message is encoded once, so that a second way carries the same `msgId`, and a realm that gets both
/// drops one of them. A second way is tried only where the first is known not to have taken the message:
/// a time-out never sends again.
#[derive(Clone)]
pub struct ResolvedClient(Arc<Inner>);

struct Inner {
    backbone: Connection,
    direct: Option<Arc<dyn Direct>>,
    signer: Option<Arc<dyn Sign>>,
    require_receiver: bool,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Counts {
    direct: AtomicU64,
    fell_back: AtomicU64,
    backbone: AtomicU64,
    in_doubt: AtomicU64,
    failed: AtomicU64,
}

/// What became of a message that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "a caller heeds each")]
pub enum Sent {
    /// It went the direct way.
    Direct,
    /// It is on the backbone.
    Backbone,
    /// It may have been taken, and is not sent again: an answer may come, or not.
    InDoubt,
}

/// What became of the messages since the client was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendCounts {
    /// Those that went the direct way.
    pub direct: u64,
    /// Those that could not go the direct way, and were given to the backbone.
    pub fell_back: u64,
    /// Those that went over the backbone, fallen back or not.
    pub backbone: u64,
    /// Those of which nobody knows.
    pub in_doubt: u64,
    /// Those that were not sent.
    pub failed: u64,
}

impl ResolvedClient {
    /// Sends over `backbone` alone. Where it can tell whether somebody listens
    /// ([`ReceiverCheck`](Capability::ReceiverCheck)), a mailbox that nobody reads is
    /// [`SendError::Unavailable`].
    #[must_use]
    pub fn new(backbone: Connection) -> Self {
        let require_receiver = backbone.transport().capabilities().has(Capability::ReceiverCheck);
        let counts = Counts::default();
        Self(Arc::new(Inner { backbone, direct: None, signer: None, require_receiver, counts }))
    }

    /// The same with a direct way that is tried first.
    #[must_use]
    pub fn with_direct(self, direct: Arc<dyn Direct>) -> Self {
        self.change(|inner| inner.direct = Some(direct))
    }

    /// The same with a proof in each MXENV/1 that has none.
    #[must_use]
    pub fn with_signer(self, signer: Arc<dyn Sign>) -> Self {
        self.change(|inner| inner.signer = Some(signer))
    }

    /// The same, without asking whether somebody reads the mailbox: that is one exchange with the
    /// broker less, and a message to nobody is a success.
    #[must_use]
    pub fn without_receiver_check(self) -> Self {
        self.change(|inner| inner.require_receiver = false)
    }

    /// The backbone.
    #[must_use]
    pub fn backbone(&self) -> &Connection {
        &self.0.backbone
    }

    pub(super) fn signer(&self) -> Option<&Arc<dyn Sign>> {
        self.0.signer.as_ref()
    }

    /// What became of the messages.
    #[must_use]
    pub fn counts(&self) -> SendCounts {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &self.0.counts;
        SendCounts {
            direct: of(&counts.direct),
            fell_back: of(&counts.fell_back),
            backbone: of(&counts.backbone),
            in_doubt: of(&counts.in_doubt),
            failed: of(&counts.failed),
        }
    }

    /// Sends `envelope` to the realm that it is for, written in `profile`; on the backbone to that
    /// profile's mailbox. `timeout` is how long the broker is waited for.
    ///
    /// # Errors
    /// [`SendError`]; the message was then not sent, save for a connection that broke meanwhile
    /// ([`Unavailable`](SendError::Unavailable)).
    pub async fn send(
        &self,
        mut envelope: Envelope<'_>,
        profile: Profile,
        timeout: Duration,
    ) -> Result<Sent, SendError> {
        if let (Profile::MxEnv1, Some(signer), None) = (profile, &self.0.signer, &envelope.auth) {
            let proof = signer.sign(&envelope, self.0.backbone.clock().now())?;
            envelope.auth = Some(proof);
        }
        let realm = envelope.to.realm.to_name();
        let bytes = profile.encode(&envelope)?;
        self.post(&realm, mailbox(profile), bytes.into(), timeout).await
    }

    /// Sends an envelope that is encoded already to `realm`: over the backbone, to its mailbox of `kind`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn post(
        &self,
        realm: &RealmName,
        kind: MailboxKind,
        envelope: Bytes,
        timeout: Duration,
    ) -> Result<Sent, SendError> {
        let Inner { direct, counts, .. } = &*self.0;
        if let Some(direct) = direct {
            match direct.send(realm, envelope.clone()).await {
                Ok(()) => return Ok(counted(&counts.direct, Sent::Direct)),
                Err(error) if error.kind().may_be_taken() => {
                    tracing::debug!(%realm, %error, "a message may have gone the direct way");
                    return Ok(counted(&counts.in_doubt, Sent::InDoubt));
                }
                Err(error) if error.kind() != DirectErrorKind::NoWay => {
                    tracing::debug!(%realm, %error, "a message goes over the backbone instead");
                    add(&counts.fell_back);
                }
                Err(_) => {}
            }
        }
        self.publish(realm, kind, envelope, timeout).await
    }

    async fn publish(
        &self,
        realm: &RealmName,
        kind: MailboxKind,
        envelope: Bytes,
        timeout: Duration,
    ) -> Result<Sent, SendError> {
        let Inner { backbone, counts, require_receiver, .. } = &*self.0;
        let message = Message::new(kind.subject(realm), envelope);
        let options = PublishOptions { require_receiver: *require_receiver, timeout };
        match backbone.transport().publish(message, options).await {
            Ok(()) => Ok(counted(&counts.backbone, Sent::Backbone)),
            // The broker did not say that it has it: it may.
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                Ok(counted(&counts.in_doubt, Sent::InDoubt))
            }
            Err(error) => {
                add(&counts.failed);
                Err(error.into())
            }
        }
    }

    fn change(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Inner {
            backbone: self.0.backbone.clone(),
            direct: self.0.direct.clone(),
            signer: self.0.signer.clone(),
            require_receiver: self.0.require_receiver,
            counts: Counts::default(),
        };
        change(&mut inner);
        Self(Arc::new(inner))
    }
}

/// The mailbox that a profile is sent to: an answer comes back by the same kind.
pub(super) fn mailbox(profile: Profile) -> MailboxKind {
    match profile {
        Profile::Legacy => MailboxKind::Legacy,
        Profile::MxEnv1 => MailboxKind::Mx(Shard::default()),
    }
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

fn counted(count: &AtomicU64, sent: Sent) -> Sent {
    add(count);
    sent
}

impl fmt::Debug for ResolvedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResolvedClient")
            .field("direct", &self.0.direct)
            .field("signer", &self.0.signer)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
