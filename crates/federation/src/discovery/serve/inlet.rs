use std::fmt;

use bytes::Bytes;
use tokio::sync::mpsc;

/// Where envelopes go that came by HTTPS: to the same guards as those of the mailbox `mx/in/1/<realm>/00`.
///
/// Anybody can post to an endpoint, and no broker says who did: let the guards want a proof
/// (`security::MxSec`) of every realm.
pub trait Inlet: Send + Sync + fmt::Debug {
    /// Takes an envelope without waiting, or not at all.
    ///
    /// # Errors
    /// [`Full`]: there is no room for it now, or nobody takes envelopes any more.
    fn take(&self, envelope: Bytes) -> Result<(), Full>;
}

/// No room for an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no room for an envelope")]
#[non_exhaustive]
pub struct Full;

impl Full {
    /// There is none.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Default for Full {
    fn default() -> Self {
        Self::new()
    }
}

/// An inlet to a queue for `room` envelopes, and the queue.
#[must_use]
pub fn inbox(room: usize) -> (impl Inlet + use<>, mpsc::Receiver<Bytes>) {
    let (sender, receiver) = mpsc::channel(room.max(1));
    (Queue(sender), receiver)
}

#[derive(Debug)]
struct Queue(mpsc::Sender<Bytes>);

impl Inlet for Queue {
    fn take(&self, envelope: Bytes) -> Result<(), Full> {
        self.0.try_send(envelope).map_err(|_| Full)
    }
}
