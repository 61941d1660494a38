//! What the server's API refuses, and which kind of failure of the ports that is: one table, for
//! answers of the API and for confirmations of appends alike.

#[cfg(test)]
mod tests;

use std::fmt;

use mesh_core::port::{ErrorKind, Operation, TransportError};
use serde::Deserialize;

/// The most bytes of the server's own words that an error repeats.
const MAX_DESCRIPTION: usize = 300;

/// The `error` of an answer: `{"code": 404, "err_code": 10059, "description": "stream not found"}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct ApiError {
    /// Like a status of HTTP.
    #[serde(default)]
    pub(crate) code: u16,
    /// Which error it is.
    #[serde(default)]
    pub(crate) err_code: u32,
    /// The server's words.
    #[serde(default)]
    pub(crate) description: String,
}

impl ApiError {
    pub(crate) const CONSUMER_NOT_FOUND: u32 = 10014;
    pub(crate) const NO_MESSAGE_FOUND: u32 = 10037;
    pub(crate) const STREAM_EXISTS: u32 = 10058;
    pub(crate) const STREAM_NOT_FOUND: u32 = 10059;
    pub(crate) const CONSUMER_EXISTS: u32 = 10148;

    /// Whether it says that the stream or the consumer is not there.
    pub(crate) fn is_absence(&self) -> bool {
        matches!(self.err_code, Self::STREAM_NOT_FOUND | Self::CONSUMER_NOT_FOUND)
    }

    /// Whether somebody else made the same stream or consumer, with other settings.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self.err_code, Self::STREAM_EXISTS | Self::CONSUMER_EXISTS)
    }

    /// The kind of failure, and whether the same call may work a little later.
    fn kind(&self) -> (ErrorKind, bool) {
        use ErrorKind::{Broker, Conflict, Full, Invalid, NotFound, TooLarge, Unsupported};
        match self.err_code {
            10014 | 10037 | 10043 | 10059 | 10149 => (NotFound, false),
            // Another last sequence, message id or stream than the publisher expected.
            10060 | 10063 | 10070 | 10071 | 10164 => (Conflict, false),
            // The same expectation, or the same message id, is being decided right now.
            10158 | 10163 => (Broker, true),
            // "maximum bytes exceeded" and its sisters; anything else is a store that failed.
            10077 if self.description.starts_with("maximum") => (Full, true),
            // A store that failed, or one that is made while its predecessor is still being removed.
            10049 | 10077 => (Broker, true),
            // Storage, memory or the account's share of them.
            10002 | 10023 | 10028 | 10047 => (Full, true),
            10054 | 10097 => (TooLarge, false),
            // JetStream is off on this server or for this account.
            10035 | 10039 | 10076 | 10120 => (Unsupported, false),
            // A request that no server will take: malformed, or a configuration against its rules.
            10003
            | 10025
            | 10052
            | 10053
            | 10074
            | 10079..=10096
            | 10098..=10103
            | 10109
            | 10111
            | 10112
            | 10113
            | 10116
            | 10121
            | 10122
            | 10126
            | 10134
            | 10136..=10139
            | 10181..=10184 => (Invalid, false),
            // It takes no more consumers.
            10026 => (Invalid, false),
            // A header that only other streams act on: a time to live, a counter, a schedule, a batch.
            10165 | 10166 | 10168..=10171 | 10174..=10177 | 10188..=10192 => (Invalid, false),
            // No leader, a member that is away, an election, too much at once.
            10004 | 10007..=10009 | 10041 | 10118 | 10119 | 10167 | 10194 | 10195 | 10202 => {
                (Broker, true)
            }
            _ => match self.code {
                404 => (NotFound, false),
                413 => (TooLarge, false),
                408 | 429 | 503 => (Broker, true),
                _ => (Broker, false),
            },
        }
    }

    /// Whether it says that the server will not have it so, rather than that it can't be asked now or
    /// that the stream or consumer is gone.
    pub(crate) fn is_final(&self) -> bool {
        let (kind, may_retry) = self.kind();
        kind == ErrorKind::Full || !(may_retry || self.is_absence())
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = &self.description;
        let cut = words.floor_char_boundary(MAX_DESCRIPTION);
        let more = if cut < words.len() { "…" } else { "" };
        write!(f, "{}{more}, error {}", &words[..cut], self.err_code)
    }
}

impl std::error::Error for ApiError {}

/// The error of a port for what the server refused; `about` is the subject or the object.
pub(crate) fn api_error(operation: Operation, about: &str, refused: &ApiError) -> TransportError {
    let (kind, may_retry) = refused.kind();
    TransportError::new(kind, operation)
        .about(about)
        .detail(refused.to_string())
        .retry(may_retry)
        .caused_by(refused.clone())
}

/// An answer that is not what the server's API gives.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Malformed {
    /// Not JSON, or JSON of another shape.
    #[error("the answer is not one of the server's API: {0}")]
    Json(#[from] serde_json::Error),
    /// The right shape with a content that can't be.
    #[error("the answer is not one of the server's API: {0}")]
    Content(&'static str),
}

/// The error of a port for an answer that can't be understood.
pub(crate) fn malformed(operation: Operation, about: &str, problem: Malformed) -> TransportError {
    TransportError::new(ErrorKind::Broker, operation)
        .about(about)
        .detail(problem.to_string())
        .caused_by(problem)
}
