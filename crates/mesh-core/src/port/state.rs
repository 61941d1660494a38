use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use sync_wrapper::SyncWrapper;

use super::TransportError;

/// How a connection is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ConnectionState {
    /// Reaching for the broker, for the first time or again.
    Connecting,
    /// Connected, and every subscription is in place.
    Connected,
    /// The connection is lost, for this reason; it is being tried again unless `Closed` follows.
    Disconnected(TransportError),
    /// Over, on purpose. The last state.
    Closed,
}

impl ConnectionState {
    /// Whether calls can reach the broker now.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected)
    }
}

/// The states of a connection, from the current one on. A reader that is late sees the latest.
pub struct ConnectionStates {
    stream: SyncWrapper<Pin<Box<dyn Stream<Item = ConnectionState> + Send>>>,
    closed: bool,
}

impl ConnectionStates {
    /// For adapters: the current state, then each change. It ends after `Closed` by itself.
    pub fn new(stream: impl Stream<Item = ConnectionState> + Send + 'static) -> Self {
        Self { stream: SyncWrapper::new(Box::pin(stream)), closed: false }
    }

    /// The current state the first time, then the next change; `None` after `Closed`.
    pub async fn next(&mut self) -> Option<ConnectionState> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for ConnectionStates {
    type Item = ConnectionState;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.closed {
            return Poll::Ready(None);
        }
        let state = ready!(self.stream.get_mut().as_mut().poll_next(context));
        self.closed = matches!(state, None | Some(ConnectionState::Closed));
        Poll::Ready(state)
    }
}

impl fmt::Debug for ConnectionStates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionStates").finish_non_exhaustive()
    }
}

/// What became of everything that was under way when a connection was closed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "three counts and no more")]
pub struct CloseReport {
    /// Accepted before the close and brought to the broker during it.
    pub finished: u64,
    /// Deliveries and calls given back, to be handled by others.
    pub released: u64,
    /// Accepted and not brought to the broker in time.
    pub lost: u64,
}
