use mesh_core::mx::{MxPath, Plane, TopicError};
use mesh_core::port::TransportError;

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
