/// One step on streams and durable consumers. An index counts within whatever is there, modulo how
/// many there are; where there is nothing, the step does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a test matches on each")]
pub enum Step {
    /// Appends a message.
    Append {
        /// Where to.
        to: Place,
        /// Under which id, or none.
        id: Option<u8>,
        /// Which last sequence of its subject is expected, or none.
        last: Option<Last>,
        /// Whether by one who may append to [`Place::Sold`] alone.
        clerk: bool,
    },
    /// Appends a message of one byte more than is allowed.
    AppendTooMuch,
    /// Appends a message with a header that is the broker's own.
    AppendForged,
    /// Publishes a live message, which a stream keeps all the same.
    Publish {
        /// Where to.
        to: Place,
    },
    /// Reads a stored message.
    Read {
        /// Of whose stream.
        from: Place,
        /// Which one, or the last of that subject.
        sequence: Option<u8>,
    },
    /// One more reader of a consumer, up to two, on a connection of its own.
    Attach {
        /// Which consumer.
        consumer: u8,
    },
    /// Tries to read a consumer of somebody else.
    Trespass {
        /// Which consumer.
        consumer: u8,
    },
    /// Drops a reader. The last one's deliveries are dropped after it, or kept and settled later; of
    /// two, one leaves when everything is settled, since which of them has what is the broker's choice.
    Leave {
        /// Of which consumer.
        consumer: u8,
        /// Whether what it was given is kept.
        keeping: bool,
    },
    /// Closes the connection of a consumer's only reader while it holds what it holds.
    Close {
        /// Of which consumer.
        consumer: u8,
    },
    /// Acknowledges.
    Ack {
        /// Which delivery.
        held: u8,
    },
    /// Gives back.
    Nak {
        /// Which delivery.
        held: u8,
        /// Whether not to come again before a short span has passed.
        later: bool,
    },
    /// Gives up.
    Terminate {
        /// Which delivery.
        held: u8,
        /// For what reason.
        why: Why,
    },
    /// Says that work goes on.
    Progress {
        /// Which delivery.
        held: u8,
    },
    /// Drops a delivery unsettled.
    Drop {
        /// Which delivery.
        held: u8,
    },
    /// Waits until whatever was given back for later has come again.
    Wait,
    /// Lets the claim of everything held run out. Takes [`ClaimTimeout`], and seconds where time can't
    /// be moved; a run with such a step in it has short claims, and no reader leaves in it.
    ///
    /// [`ClaimTimeout`]: mesh_core::port::Capability::ClaimTimeout
    Lapse,
    /// Retires a consumer.
    Retire {
        /// Which consumer.
        consumer: u8,
    },
    /// Asserts the topology again: what was retired begins anew.
    Assert,
}

/// A subject, and with it a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "a test matches on each")]
pub enum Place {
    /// An event that two consumers want.
    Sold,
    /// An event that one consumer wants.
    Left,
    /// An event on its way back to one consumer.
    Replay,
    /// A node's report: a work queue.
    Report,
    /// A node's declaration: the newest is kept.
    Declare,
    /// A subject that no stream takes.
    Nowhere,
}

/// The last sequence of a subject, as an append may expect it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a test matches on each")]
pub enum Last {
    /// The number that the last append there was given.
    Known,
    /// None.
    Zero,
    /// One that never was.
    Wrong,
}

/// Why a delivery is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a test matches on each")]
pub enum Why {
    /// Its handler has no use for it.
    Useless,
    /// It can't be read.
    Undecodable,
    /// It is not from whom it says.
    Unverifiable,
}
