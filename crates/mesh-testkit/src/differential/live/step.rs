/// One step on live messages and requests, by one of three connections: two that may do everything, and
/// a guest. An index counts within whatever is there, modulo how many there are; where there is nothing,
/// the step does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a test matches on each")]
pub enum LiveStep {
    /// Subscribes.
    Subscribe {
        /// Which connection.
        by: u8,
        /// To which of the filters.
        filter: u8,
        /// In which of two groups, or in none.
        group: Option<u8>,
    },
    /// Serves a tool.
    Serve {
        /// Which connection.
        by: u8,
        /// Which of two tools.
        tool: u8,
    },
    /// Drops a subscription or a service.
    Drop {
        /// Which one.
        open: u8,
    },
    /// Publishes a message.
    Publish {
        /// Which connection.
        by: u8,
        /// To which of the subjects.
        to: u8,
        /// How.
        manner: Manner,
    },
    /// Asks.
    Request {
        /// Which connection.
        by: u8,
        /// Which of two tools.
        tool: u8,
        /// What whoever serves it does.
        answering: Answering,
    },
    /// Closes a connection.
    Close {
        /// Which one.
        by: u8,
    },
    /// Connects again, where it was closed.
    Dial {
        /// Which connection.
        by: u8,
    },
}

/// How a message is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a test matches on each")]
pub enum Manner {
    /// To whoever listens.
    Plain,
    /// To somebody, or not at all.
    ToSomebody,
    /// With a reply address.
    Reply,
    /// With a reply address, to somebody: which makes no sense.
    ReplyToSomebody,
    /// With a reply address that is the broker's own.
    BrokerReply,
    /// With a header that is the broker's own.
    BrokerHeader,
    /// One byte more than is allowed.
    TooMuch,
}

/// What whoever serves does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a test matches on each")]
pub enum Answering {
    /// Answers.
    Answers,
    /// Drops it.
    Ignores,
    /// Answers when the asker has given up.
    TooLate,
    /// Answers one byte more than is allowed.
    TooMuch,
}
