use std::sync::atomic::{AtomicU8, Ordering};

use futures_util::stream;
use mesh_core::port::{ConnectionState, ConnectionStates, ErrorKind, Operation, TransportError};
use tokio::sync::watch;

/// How a connection is, for its calls and for those who watch it.
#[derive(Debug)]
pub(crate) struct Status {
    over: AtomicU8,
    states: watch::Sender<ConnectionState>,
}

const OPEN: u8 = 0;
const CLOSED: u8 = 1;
const SEVERED: u8 = 2;

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// By its owner.
    Closed,
    /// By the broker.
    Severed,
}

impl Over {
    /// The error of a call that comes too late.
    pub(crate) fn error(self, operation: Operation) -> TransportError {
        match self {
            Self::Closed => TransportError::new(ErrorKind::Closed, operation),
            Self::Severed => TransportError::new(ErrorKind::Disconnected, operation)
                .detail("the broker dropped this connection")
                .retry(false),
        }
    }
}

impl Status {
    pub(crate) fn new() -> Self {
        Self { over: AtomicU8::new(OPEN), states: watch::Sender::new(ConnectionState::Connected) }
    }

    pub(crate) fn over(&self) -> Option<Over> {
        match self.over.load(Ordering::Acquire) {
            OPEN => None,
            SEVERED => Some(Over::Severed),
            _ => Some(Over::Closed),
        }
    }

    /// Ends it; the answer is whether it was open.
    pub(crate) fn end(&self, how: Over) -> bool {
        let (mark, state) = match how {
            Over::Closed => (CLOSED, ConnectionState::Closed),
            Over::Severed => {
                (SEVERED, ConnectionState::Disconnected(how.error(Operation::Connect)))
            }
        };
        // Closed is the last state: a connection that was severed may still be closed by its owner,
        // and one that was closed is not severed afterwards.
        let next = |was| (was != CLOSED).then_some(mark);
        match self.over.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) {
            Ok(was) => {
                self.states.send_replace(state);
                was == OPEN
            }
            Err(_) => false,
        }
    }

    /// The current state, then each change; the last is the one it ended with.
    pub(crate) fn states(&self) -> ConnectionStates {
        let next = |known: Option<(watch::Receiver<ConnectionState>, bool)>| async move {
            let (mut states, first) = known?;
            if !first {
                states.changed().await.ok()?;
            }
            let state = states.borrow_and_update().clone();
            let last = !state.is_connected();
            Some((state, (!last).then_some((states, false))))
        };
        ConnectionStates::new(stream::unfold(Some((self.states.subscribe(), true)), next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_its_owner_closed_is_not_severed_afterwards() {
        let status = Status::new();
        assert!(status.end(Over::Closed));
        assert!(!status.end(Over::Severed));
        assert_eq!(status.over(), Some(Over::Closed));
    }
}
