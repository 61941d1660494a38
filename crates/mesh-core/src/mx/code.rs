use std::fmt;

/// The codes that a gateway itself answers a request with (protocol §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EdgeCode {
    /// Too many requests of one realm.
    RateLimited,
    /// The policy forbids it.
    PolicyDenied,
    /// No component answered in time.
    Timeout,
    /// The component failed without a code of its own.
    HandlerError,
    /// The request makes no sense here.
    BadRequest,
}

impl EdgeCode {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::RateLimited,
        Self::PolicyDenied,
        Self::Timeout,
        Self::HandlerError,
        Self::BadRequest,
    ];

    /// The code on the wire: `MX.EDGE.…`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "MX.EDGE.RATE_LIMITED",
            Self::PolicyDenied => "MX.EDGE.POLICY_DENIED",
            Self::Timeout => "MX.EDGE.TIMEOUT",
            Self::HandlerError => "MX.EDGE.HANDLER_ERROR",
            Self::BadRequest => "MX.EDGE.BAD_REQUEST",
        }
    }
}

impl fmt::Display for EdgeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
