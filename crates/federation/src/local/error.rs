use mesh_core::mx::{Fault, MxPath, Plane, TopicError};
use mesh_core::port::{ErrorKind, TransportError};
use mesh_core::subject::Subject;

/// Why a component can't be registered, or an event not emitted.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// Commands are taken on `accepts`, events said on `emits`.
    #[error("{path} is not of the plane `{expected}`")]
    Plane {
        /// The path that was given.
        path: MxPath<'static>,
        /// The plane that it must have.
        expected: Plane,
    },
    /// This host has a handler for the path already.
    #[error("{path} has a handler already")]
    Taken {
        /// The path that was given.
        path: MxPath<'static>,
    },
    /// Realm and path together don't fit a topic.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The local bus refuses it, or can't be reached.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Why a request inside the realm has no answer.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// Nobody takes the command; told at once, where the bus can tell. Nothing ran.
    #[error("nobody takes {subject}")]
    NoResponders {
        /// The command's topic.
        subject: Subject,
    },
    /// No answer came in time. The component may have handled the request, or may yet.
    #[error("no answer in time")]
    TimedOut,
    /// The bus does not let us send it, or hear its answer.
    #[error("the local bus denies it")]
    Denied(#[source] TransportError),
    /// The request is too large for the bus. Nothing ran.
    #[error("the request is too large")]
    TooLarge(#[source] TransportError),
    /// The component answered with a failure.
    #[error("{}: {}", .0.code, .0.message)]
    Failed(Box<Fault<'static>>),
    /// As many requests wait as may.
    #[error("{limit} requests wait already")]
    Busy {
        /// How many may.
        limit: usize,
    },
    /// Only commands are answered, and they are taken on `accepts`.
    #[error("{path} is not of the plane `accepts`")]
    Plane {
        /// The path that was given.
        path: MxPath<'static>,
    },
    /// Realm and path together don't fit a topic.
    #[error(transparent)]
    Topic(#[from] TopicError),
    /// The bus can't be reached, or was closed; its kind says which.
    #[error(transparent)]
    Transport(TransportError),
}

impl From<TransportError> for LocalError {
    fn from(error: TransportError) -> Self {
        match error.kind() {
            ErrorKind::TimedOut => Self::TimedOut,
            ErrorKind::Denied => Self::Denied(error),
            ErrorKind::TooLarge => Self::TooLarge(error),
            _ => Self::Transport(error),
        }
    }
}
