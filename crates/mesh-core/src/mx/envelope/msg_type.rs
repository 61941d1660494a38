use std::fmt;

/// What an envelope is: `msgType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
// Exhaustive on purpose: MXENV/1 has these six.
pub enum MsgType {
    /// A command; answered.
    Cmd,
    /// An event; never answered.
    Evt,
    /// The answer to a request.
    Result,
    /// A subscription; answered, routed like a command.
    Sub,
    /// Its end; answered, routed like a command.
    Unsub,
    /// The refusal of a request.
    Nack,
}

impl MsgType {
    const ALL: [Self; 6] = [Self::Cmd, Self::Evt, Self::Result, Self::Sub, Self::Unsub, Self::Nack];

    /// The type on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cmd => "Cmd",
            Self::Evt => "Evt",
            Self::Result => "Result",
            Self::Sub => "Sub",
            Self::Unsub => "Unsub",
            Self::Nack => "Nack",
        }
    }

    /// Whether somebody waits for an answer. No answer is ever answered, so that no Nack answers a
    /// Nack.
    #[must_use]
    pub const fn is_answered(self) -> bool {
        matches!(self, Self::Cmd | Self::Sub | Self::Unsub)
    }

    /// Whether this is an answer.
    #[must_use]
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Result | Self::Nack)
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for MsgType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
