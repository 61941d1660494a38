//! How a session looks from outside: to who prints it, and to who asks whether the next may do better.

use std::fmt;

use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::time::{Instant, timeout_at};

use super::Session;
use crate::publish::lost;

impl Session {
    /// Whether `error` means that the connection was lost, as far as is known before `due`: then the same
    /// may work in the next.
    pub(crate) async fn is_lost_by(&self, error: &TransportError, due: Instant) -> bool {
        // The client may know before it says so.
        error.kind() == ErrorKind::Disconnected && timeout_at(due, self.lost()).await.is_ok()
    }
}

/// The error of a subscription that ended without the server's consent: the session did, or the server has no
/// room for it.
pub(super) fn unanswered(
    operation: Operation,
    filter: &str,
    error: TransportError,
) -> TransportError {
    match error.kind() {
        ErrorKind::Disconnected => lost(operation, filter, error),
        _ => error.about(filter),
    }
}

/// Which it is and with which server: the client's own insides fill pages.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, server, .. } = self;
        f.debug_struct("Session").field("id", id).field("server", server).finish_non_exhaustive()
    }
}
