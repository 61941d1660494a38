use std::net::SocketAddr;

use super::User;

/// What a server would take without a word, and a mesh must not run with. Most of what is known to be so
/// can't be composed: a side without rules, a list of users that is empty, a user without a verifier. A file
/// that somebody else wrote is judged by the supervisor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Danger {
    /// Nobody has a user: all are revoked. A reload with that drops everybody, and a server that starts with
    /// it asks nobody for a name (measured).
    #[error("nobody has a user, and a server that starts so asks nobody for a name")]
    NoUsers,
    /// Monitoring that others than this machine reach: it tells anybody who is connected.
    #[error("monitoring at {0} is not on loopback")]
    Monitoring(SocketAddr),
}

impl Danger {
    pub(super) fn nobody(users: &[User]) -> Result<(), Self> {
        if users.is_empty() { Err(Self::NoUsers) } else { Ok(()) }
    }

    pub(super) fn monitoring(at: SocketAddr) -> Result<(), Self> {
        if at.ip().is_loopback() { Ok(()) } else { Err(Self::Monitoring(at)) }
    }
}
