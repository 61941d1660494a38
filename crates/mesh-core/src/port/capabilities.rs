use std::fmt;

/// A guarantee that a transport can give. What it means is proven by the transport suite, both
/// ways: declared it works, not declared it answers `Unsupported`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// `subscribe` takes filters with `*` and `>`.
    Wildcards,
    /// `subscribe` takes a queue group: one member gets each message.
    QueueGroups,
    /// `publish` can insist on a receiver.
    ReceiverCheck,
    /// Questions with one answer; nobody there is told at once.
    Requests,
    /// Appended messages are kept for durable consumers until they settle them.
    DurableConsumers,
    /// An append with an id that was seen lately is stored once and answered `duplicate`.
    Deduplication,
    /// Appends are numbered; an expected number is checked; a message is read by its number.
    Sequences,
    /// A channel that keeps the newest message of each subject.
    NewestPerSubject,
    /// A delivery that stays unsettled for the consumer's `ack_wait` is given to another, unless its
    /// holder reports progress.
    ClaimTimeout,
    /// `nak` may ask for a delay.
    DelayedNak,
    /// A delivery that is terminated or tried too often reaches the dead letters by itself.
    DeadLetters,
    /// A dead letter tells what its handler said, and how often the message was delivered:
    /// `x-dead-error`, `x-dead-deliveries`.
    DeadLetterReasons,
    /// What differs from what is asserted is put right in place, where that is asked for; and what there is
    /// is listed.
    Mending,
    /// Each connection has permissions that the broker enforces.
    Permissions,
    /// The reply address of a call is an inbox that names caller and responder, and the server lets
    /// nobody else answer there.
    ScopedReplies,
}

impl Capability {
    /// Every capability.
    pub const ALL: [Self; 15] = [
        Self::Wildcards,
        Self::QueueGroups,
        Self::ReceiverCheck,
        Self::Requests,
        Self::DurableConsumers,
        Self::Deduplication,
        Self::Sequences,
        Self::NewestPerSubject,
        Self::ClaimTimeout,
        Self::DelayedNak,
        Self::DeadLetters,
        Self::DeadLetterReasons,
        Self::Mending,
        Self::Permissions,
        Self::ScopedReplies,
    ];

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Sizes that a transport refuses to exceed, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "adapters build it from what the server says")]
pub struct Limits {
    /// The most bytes of a payload.
    pub max_payload: usize,
    /// The most bytes of all headers together ([`Headers::wire_bytes`](crate::message::Headers::wire_bytes)).
    pub max_header_bytes: usize,
}

impl Default for Limits {
    /// 1 MiB of payload and 32 KiB of headers. A nats-server counts both together against its one
    /// limit, 1 MiB unless told otherwise: its adapter takes the headers' share off the payload's.
    fn default() -> Self {
        Self { max_payload: 1024 * 1024, max_header_bytes: 32 * 1024 }
    }
}

/// What a transport guarantees, as data.
///
/// ```
/// use mesh_core::port::{Capabilities, Capability, Limits};
///
/// let exact = Capabilities::new(Limits::default(), [Capability::ReceiverCheck]);
/// assert!(exact.has(Capability::ReceiverCheck));
/// assert!(!exact.has(Capability::Wildcards));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Capabilities {
    set: u16,
    limits: Limits,
}

impl Capabilities {
    /// Exactly these guarantees, within these limits.
    #[must_use]
    pub fn new(limits: Limits, capabilities: impl IntoIterator<Item = Capability>) -> Self {
        let set = capabilities.into_iter().fold(0, |set, capability| set | capability.bit());
        Self { set, limits }
    }

    /// Whether it is declared.
    #[must_use]
    pub const fn has(&self, capability: Capability) -> bool {
        self.set & capability.bit() != 0
    }

    /// Those that are declared.
    pub fn iter(&self) -> impl Iterator<Item = Capability> + '_ {
        Capability::ALL.into_iter().filter(|capability| self.has(*capability))
    }

    /// The sizes it refuses to exceed.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capabilities")
            .field("limits", &self.limits)
            .field("set", &self.iter().collect::<Vec<_>>())
            .finish()
    }
}
