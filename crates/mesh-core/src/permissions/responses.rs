use std::time::Duration;

/// What a broker lets somebody send where it was asked to answer, whatever its lists say: a nats-server's
/// `allow_responses`. It is a budget for each message that is received, and the receiver's lists, denied
/// filters among them, don't count for it (protocol §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the server's two numbers")]
pub struct Responses {
    /// How many answers to each message.
    pub max: u32,
    /// For how long after the message.
    pub expires: Duration,
}

/// How who serves may answer (protocol §4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "by the caller's address, or by having been asked")]
pub enum Answers {
    /// Only to an inbox that names the responder: `_INBOX.*.*.<responder>.>`.
    #[default]
    Scoped,
    /// Wherever it is asked to, within a budget: for callers that can't choose their reply address.
    AllowResponses(Responses),
}
