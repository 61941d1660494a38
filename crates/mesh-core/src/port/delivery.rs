use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::TransportError;
use crate::dead_letter::DeadReason;
use crate::message::Message;

/// One message in the hands of a consumer, to be settled once: [`ack`](Self::ack),
/// [`nak`](Self::nak) or [`terminate`](Self::terminate), each of which takes it. Dropped without
/// any of them it is released and comes again.
///
/// It has no reply address to answer to: a reply to an acknowledgement address does not compile.
pub struct Delivery {
    message: Message,
    info: DeliveryInfo,
    settlement: Option<Box<dyn Settlement>>,
}

/// What the broker says about a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "adapters build it")]
pub struct DeliveryInfo {
    /// Which try this is, from 1, as the broker counts; never from a header a publisher can set.
    /// A broker that does not count says at least how many there were.
    pub attempt: u32,
    /// How many tries there are, or no limit.
    pub max_attempts: Option<u32>,
    /// How long it may stay unsettled before it is given to another
    /// ([`ClaimTimeout`](super::Capability::ClaimTimeout)): report progress well within.
    pub ack_wait: Option<Duration>,
    /// The message's number in its stream ([`Sequences`](super::Capability::Sequences)).
    pub sequence: Option<u64>,
}

impl DeliveryInfo {
    /// Whether no further try follows this one.
    #[must_use]
    pub fn is_last_attempt(&self) -> bool {
        self.max_attempts.is_some_and(|max| self.attempt >= max)
    }
}

/// How a delivery is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "adapters must handle each")]
pub enum Verdict {
    /// Handled.
    Ack,
    /// Not handled; deliver it again.
    Nak {
        /// Not before this span has passed.
        delay: Option<Duration>,
    },
    /// Never to be delivered again; a dead letter.
    Terminate(Reason),
}

/// For adapters: the other end of a [`Delivery`].
#[async_trait]
pub trait Settlement: Send + Sync {
    /// Settles it; returns when that is on its way, before anything this connection sends later.
    async fn settle(self: Box<Self>, verdict: Verdict) -> Result<(), TransportError>;

    /// Says that work goes on: the claim begins anew.
    async fn progress(&self) -> Result<(), TransportError>;

    /// Gives it back. Must not block: it runs when a delivery is dropped.
    fn release(self: Box<Self>);
}

impl Delivery {
    /// For adapters.
    #[must_use]
    pub fn new(message: Message, info: DeliveryInfo, settlement: Box<dyn Settlement>) -> Self {
        Self { message, info, settlement: Some(settlement) }
    }

    /// The message, without a reply address.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// What the broker says about it.
    #[must_use]
    pub fn info(&self) -> &DeliveryInfo {
        &self.info
    }

    /// Whether no further try follows this one.
    #[must_use]
    pub fn is_last_attempt(&self) -> bool {
        self.info.is_last_attempt()
    }

    /// Settles it as handled.
    ///
    /// # Errors
    /// When the broker could not be told. The message then comes again: handle an id once.
    pub async fn ack(self) -> Result<(), TransportError> {
        self.settle(Verdict::Ack).await
    }

    /// Gives it back for another try, at once or after a delay.
    ///
    /// # Errors
    /// As [`ack`](Self::ack); `Unsupported` for a delay without [`DelayedNak`](super::Capability::DelayedNak),
    /// `Invalid` for one that is longer than the transport can keep: it then comes again at once.
    pub async fn nak(self, delay: Option<Duration>) -> Result<(), TransportError> {
        self.settle(Verdict::Nak { delay }).await
    }

    /// Gives it up for good.
    ///
    /// # Errors
    /// As [`ack`](Self::ack).
    pub async fn terminate(self, reason: Reason) -> Result<(), TransportError> {
        self.settle(Verdict::Terminate(reason)).await
    }

    /// Settles it one way or another.
    ///
    /// # Errors
    /// As [`ack`](Self::ack) and [`nak`](Self::nak).
    pub async fn settle(mut self, verdict: Verdict) -> Result<(), TransportError> {
        match self.settlement.take() {
            Some(settlement) => settlement.settle(verdict).await,
            None => Ok(()),
        }
    }

    /// Says that work goes on, so that it is not given to another.
    ///
    /// # Errors
    /// When the broker could not be told.
    pub async fn progress(&self) -> Result<(), TransportError> {
        match &self.settlement {
            Some(settlement) => settlement.progress().await,
            None => Ok(()),
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some(settlement) = self.settlement.take() {
            settlement.release();
        }
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("message", &self.message)
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

/// Why a delivery was given up: at most 512 bytes on one line. Longer text is cut, and control
/// characters become spaces, so a reason can always be made and always be sent.
///
/// ```
/// use mesh_core::port::Reason;
/// assert_eq!(Reason::new("no such\r\naccount").as_str(), "no such  account");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    const MAX: usize = 512;
    const UNDECODABLE: &str = DeadReason::Undecodable.as_str();
    const UNVERIFIABLE: &str = DeadReason::Unverifiable.as_str();

    /// Takes what fits of `text`.
    #[must_use]
    pub fn new(text: impl AsRef<str>) -> Self {
        let mut reason = String::new();
        for c in text.as_ref().trim().chars() {
            if reason.len() + c.len_utf8() > Self::MAX {
                break;
            }
            reason.push(if c.is_control() { ' ' } else { c });
        }
        reason.truncate(reason.trim_end().len());
        Self(reason)
    }

    /// Not what it should be: the dead letter's reason is then `undecodable`.
    #[must_use]
    pub fn undecodable(text: impl AsRef<str>) -> Self {
        Self::new(format!("{}: {}", Self::UNDECODABLE, text.as_ref()))
    }

    /// Not from whom it says: the dead letter's reason is then `unverifiable`.
    #[must_use]
    pub fn unverifiable(text: impl AsRef<str>) -> Self {
        Self::new(format!("{}: {}", Self::UNVERIFIABLE, text.as_ref()))
    }

    /// What kind of reason it is, for a dead letter. A broker passes on one text, so the kind is how
    /// it begins.
    #[must_use]
    pub fn kind(&self) -> DeadReason {
        let kind = self.0.split_once(':').map_or("", |(kind, _)| kind);
        match kind {
            Self::UNDECODABLE => DeadReason::Undecodable,
            Self::UNVERIFIABLE => DeadReason::Unverifiable,
            _ => DeadReason::Terminated,
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
