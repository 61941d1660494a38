use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::{QueueGroup, TransportError};
use mesh_core::time::Backoff;

use super::super::RulesError;
use crate::{Answers, OsRandom, Random, Sign};

/// How an [`EdgeGateway`](super::EdgeGateway) uses its two connections.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "callers name fields and take the rest from Default")]
pub struct GatewayOptions {
    /// Whether it also listens on the legacy topic with the realm's name unescaped. Not unless told
    /// (protocol §8).
    pub legacy_raw_mailbox: bool,
    /// Whether several gateways of the realm share its mailboxes, each message going to one of them.
    pub sharing: Sharing,
    /// How the replies of components are heard.
    pub replies: ReplyTopics,
    /// Whether a request that nobody serves is refused at once, where the realm's bus can tell
    /// ([`ReceiverCheck`](mesh_core::port::Capability::ReceiverCheck)). Yes unless told; otherwise it
    /// takes until the time-out.
    pub check_receiver: bool,
    /// Where answers to this realm's own questions go. Without it they are handed to other gateways of
    /// the realm, or forgotten.
    pub answers: Option<Answers>,
    /// Whether an answer that nobody here waits for is handed, once, to the realm's other gateways: one
    /// of them may have asked. Yes unless told.
    pub hand_over: bool,
    /// What proves this realm to those it answers (MXSEC/1). Answers in the legacy profile have no place
    /// for a proof. None unless told.
    pub signer: Option<Arc<dyn Sign>>,
    /// How many messages may wait in each mailbox for this gateway. 1,024 unless told.
    pub buffer: NonZeroUsize,
    /// How many messages of each mailbox are worked on at a time: decided, published inside, refused.
    /// 256 unless told. More wait in the mailbox.
    pub at_once: NonZeroUsize,
    /// How long to try to bring an answer to its realm's mailbox. 5 s unless told.
    pub patience: Duration,
    /// The pauses between two tries.
    pub pauses: Backoff,
    /// How often guards free what they no longer need, and the totals of all counters are told to who
    /// records metrics. Every 5 s unless told.
    pub tidy_every: Duration,
    /// Where ids come from.
    pub random: Arc<dyn Random>,
}

/// Whether a realm's mailboxes are shared by several gateways.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "shared or not")]
pub enum Sharing {
    /// In the queue group `mx-edge`, where the backbone has
    /// [`QueueGroups`](mesh_core::port::Capability::QueueGroups); else not.
    WherePossible,
    /// In this group.
    Group(QueueGroup),
    /// This is the only gateway of the realm, or each has to see all.
    Alone,
}

/// How the replies of components are heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "together or apart")]
pub enum ReplyTopics {
    /// By one subscription to `mx/1/<realm>/_reply.*` where the realm's bus has
    /// [`Wildcards`](mesh_core::port::Capability::Wildcards); else each by its own.
    WherePossible,
    /// Each by a subscription of its own: an exchange with the broker more for each request. For many
    /// busy gateways of one realm, each of which would hear the replies to all.
    Each,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            legacy_raw_mailbox: false,
            sharing: Sharing::WherePossible,
            replies: ReplyTopics::WherePossible,
            check_receiver: true,
            answers: None,
            hand_over: true,
            signer: None,
            buffer: nonzero(1_024),
            at_once: nonzero(256),
            patience: Duration::from_secs(5),
            pauses: Backoff { min: Duration::from_millis(50), max: Duration::from_secs(1) },
            tidy_every: Duration::from_secs(5),
            random: Arc::new(OsRandom::new()),
        }
    }
}

/// Why a gateway can't be started.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The configuration makes no sense.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// A subscription was refused, or a broker is away.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

const fn nonzero(value: usize) -> NonZeroUsize {
    match NonZeroUsize::new(value) {
        Some(value) => value,
        None => NonZeroUsize::MIN,
    }
}
