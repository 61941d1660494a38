use mesh_core::json::RawJson;
use mesh_core::mx::{EdgeCode, EncodeError, Fault, MxPath, Plane, TopicError, UriError};
use mesh_core::port::{ErrorKind, Operation, TransportError};

use super::SignError;
use crate::edge::GatewayError;
use crate::lease::FederationError;
use crate::{AnswersClosed, LocalError, RegisterError};

/// Why a realm can't be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The gateway can't.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// What lets others watch the realm's events can't.
    #[error(transparent)]
    Events(#[from] FederationError),
    /// The local bus can't be listened to.
    #[error(transparent)]
    Local(#[from] TransportError),
}

/// Why a message was not sent to another realm.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The backbone does not let us send to that realm.
    #[error("the backbone denies it")]
    Denied(#[source] TransportError),
    /// Nobody reads the realm's mailbox, or the backbone can't be reached; trying again later may help.
    #[error("the realm can't be reached")]
    Unavailable(#[source] TransportError),
    /// The message is too large for the backbone.
    #[error("the message is too large")]
    TooLarge(#[source] TransportError),
    /// The message has what its profile has no place for, or lacks what it must have.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The message can't be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The connection is closed, or refuses the message; its kind says which.
    #[error(transparent)]
    Transport(TransportError),
}

impl From<TransportError> for SendError {
    fn from(error: TransportError) -> Self {
        match error.kind() {
            ErrorKind::Denied => Self::Denied(error),
            ErrorKind::TooLarge => Self::TooLarge(error),
            ErrorKind::NoResponders | ErrorKind::Disconnected | ErrorKind::Full => {
                Self::Unavailable(error)
            }
            _ => Self::Transport(error),
        }
    }
}

/// Why a call to another realm has no answer, or an event was not sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// Our backbone does not let us send to that realm. Nothing ran.
    #[error("the backbone denies it")]
    Denied(#[source] TransportError),
    /// Nobody reads the realm's mailbox, or the backbone can't be reached. Trying again later may help.
    #[error("the realm can't be reached")]
    Unavailable(#[source] TransportError),
    /// No answer came in time. The other realm may have handled the call, or may yet. Where its gateway
    /// had no answer in time either, that is a [`Refused`](Self::Refused) with `MX.EDGE.TIMEOUT`.
    #[error("no answer in time")]
    TimedOut,
    /// The message is too large for the backbone. Nothing ran.
    #[error("the message is too large")]
    TooLarge(#[source] TransportError),
    /// The other realm says no, or its component failed.
    #[error("{code}: {message}")]
    Refused {
        /// For programs: `MX.EDGE.…` from its gateway ([`RemoteError::edge_code`]), else its own.
        code: String,
        /// For people, in the other realm's words.
        message: String,
        /// What else it says.
        details: Option<RawJson<'static>>,
    },
    /// As many calls wait as may, to that realm or in all. Nothing was sent.
    #[error(transparent)]
    Busy(RegisterError),
    /// The address is none.
    #[error(transparent)]
    Uri(#[from] UriError),
    /// Commands go to `accepts`, events come from `emits`.
    #[error("{path} is not of the plane `{expected}`")]
    Plane {
        /// The path that was given.
        path: MxPath<'static>,
        /// The plane that it must have.
        expected: Plane,
    },
    /// Realm and path together don't fit a topic.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The message has what its profile has no place for: a `traceId` in the legacy profile, say.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The message can't be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The client is closed.
    #[error("the client is closed")]
    Closed,
    /// A bus refuses it; the kind says why.
    #[error(transparent)]
    Transport(TransportError),
}

impl RemoteError {
    /// The code of the other realm's gateway, where that refused it.
    #[must_use]
    pub fn edge_code(&self) -> Option<EdgeCode> {
        let Self::Refused { code, .. } = self else { return None };
        EdgeCode::ALL.iter().copied().find(|edge| edge.as_str() == code)
    }

    /// Whether the same call may work a little later.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::TimedOut | Self::Busy(_) => true,
            Self::Transport(error) => error.may_retry(),
            Self::Refused { .. } => {
                matches!(self.edge_code(), Some(EdgeCode::RateLimited | EdgeCode::Timeout))
            }
            _ => false,
        }
    }
}

impl From<Fault<'_>> for RemoteError {
    fn from(fault: Fault<'_>) -> Self {
        Self::Refused {
            code: fault.code.into_owned(),
            message: fault.message.into_owned(),
            details: fault.details.map(RawJson::into_owned),
        }
    }
}

impl From<TransportError> for RemoteError {
    fn from(error: TransportError) -> Self {
        match error.kind() {
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::Closed => Self::Closed,
            _ => SendError::from(error).into(),
        }
    }
}

impl From<SendError> for RemoteError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Denied(error) => Self::Denied(error),
            SendError::Unavailable(error) => Self::Unavailable(error),
            SendError::TooLarge(error) => Self::TooLarge(error),
            SendError::Encode(error) => Self::Encode(error),
            SendError::Sign(error) => Self::Sign(error),
            SendError::Transport(error) if error.kind() == ErrorKind::Closed => Self::Closed,
            SendError::Transport(error) => Self::Transport(error),
        }
    }
}

impl From<RegisterError> for RemoteError {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::Closed => Self::Closed,
            error => Self::Busy(error),
        }
    }
}

impl From<AnswersClosed> for RemoteError {
    fn from(_: AnswersClosed) -> Self {
        Self::Closed
    }
}

/// A call within one's own realm fails in the same words.
impl From<LocalError> for RemoteError {
    fn from(error: LocalError) -> Self {
        match error {
            LocalError::NoResponders { subject } => Self::Unavailable(
                TransportError::new(ErrorKind::NoResponders, Operation::Request).about(subject),
            ),
            LocalError::TimedOut => Self::TimedOut,
            LocalError::Denied(error) => Self::Denied(error),
            LocalError::TooLarge(error) => Self::TooLarge(error),
            LocalError::Failed(fault) => (*fault).into(),
            LocalError::Busy { limit } => Self::Busy(RegisterError::Full { limit }),
            LocalError::Plane { path } => Self::Plane { path, expected: Plane::Accepts },
            LocalError::Topic(error) => Self::Topic(error),
            LocalError::Transport(error) => error.into(),
        }
    }
}
