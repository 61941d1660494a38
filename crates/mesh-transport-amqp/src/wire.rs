//! One connection of the client library, from its first word to its loss. It is never mended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use lapin::{Channel, Connection, Event};
use mesh_core::port::{ErrorKind, Operation, TransportError};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use crate::dial::{self, Plug};
use crate::error::{clipped, failed, lost, timed_out};
use crate::fate::Fate;
use crate::publish::Returned;
use crate::{AmqpOptions, Target};

/// How long the reason of a lost connection may take to come after the loss.
const REASON: Duration = Duration::from_millis(200);

/// How many numbers of channels that the broker once closed may be met again. Each that was leaves the client
/// a channel to go through at each write.
const STALE: u32 = 64;

/// See the module. Dropped, it ends.
pub(crate) struct Wire {
    connection: Connection,
    plug: Plug,
    fate: Arc<Fate>,
    /// How many were met.
    stale: AtomicU32,
}

impl Wire {
    /// Dials. Its end is told to `fate`; on a connection that only publishes, what comes back is noted in
    /// `returned`.
    pub(crate) async fn open(
        target: &Target,
        options: &AmqpOptions,
        name: &str,
        fate: &Arc<Fate>,
        returned: Option<Arc<Returned>>,
    ) -> Result<Self, TransportError> {
        let dialled = dial::dial(target, options, name, returned).await?;
        let events = dialled.connection.events_listener();
        tokio::spawn(listen(events, dialled.ended, Arc::clone(fate)));
        let (fate, stale) = (Arc::clone(fate), AtomicU32::new(0));
        Ok(Self { connection: dialled.connection, plug: dialled.plug, fate, stale })
    }

    /// A new channel.
    ///
    /// The client never again sends anything on the number of a channel that the broker closed, and answers
    /// with the reason of then. There are 2047 numbers, and they are taken in turn: those of before are passed
    /// over, and a connection with too many of them is given up for a new one.
    pub(crate) async fn channel(
        &self,
        operation: Operation,
        due: Instant,
    ) -> Result<Channel, TransportError> {
        let opening = async {
            tokio::select! {
                opened = self.fresh(operation) => opened,
                why = self.fate.over() => Err(lost(operation, why)),
            }
        };
        timeout_at(due, opening).await.unwrap_or_else(|_| Err(timed_out(operation)))
    }

    async fn fresh(&self, operation: Operation) -> Result<Channel, TransportError> {
        loop {
            match self.connection.create_channel().await {
                Ok(channel) => return Ok(channel),
                Err(error) if is_stale(&error) && self.connection.status().connected() => {
                    if self.stale.fetch_add(1, Ordering::Relaxed) >= STALE {
                        self.fate.end(gone("the numbers of its channels are used up"));
                        self.plug.pull();
                        return Err(lost(operation, self.fate.why()));
                    }
                }
                Err(error) => return Err(self.fate.failed(&error, operation)),
            }
        }
    }

    /// How many bytes a frame may have, so that all headers of a message fit into one.
    pub(crate) fn frame_max(&self) -> usize {
        usize::try_from(self.connection.configuration().frame_max()).unwrap_or(usize::MAX)
    }

    /// Says goodbye, for as long as that may take, and ends.
    pub(crate) async fn close(&self, due: Instant) {
        let _ = timeout_at(due, self.connection.close(200, "OK".into())).await;
        self.plug.pull();
    }

    /// Ends without a word.
    pub(crate) fn pull(&self) {
        self.plug.pull();
    }
}

/// Hears what the client says outside any call, and tells `fate`.
async fn listen(
    events: impl futures_core::Stream<Item = Event>,
    mut ended: oneshot::Receiver<()>,
    fate: Arc<Fate>,
) {
    let mut events = std::pin::pin!(events);
    loop {
        let event = tokio::select! {
            biased;
            event = events.next() => event,
            // Nothing is ever sent: the other end is dropped.
            _ = &mut ended => break,
        };
        if !hear(event, &fate) {
            return;
        }
    }
    // The thread may be gone before its last words have come.
    let last = async { while hear(events.next().await, &fate) {} };
    let _ = timeout(REASON, last).await;
    fate.end(gone("the connection to the broker was lost"));
}

/// Takes note of an event; whether there may be more.
fn hear(event: Option<Event>, fate: &Fate) -> bool {
    match event {
        // A channel's refusal belongs to the call that caused it.
        Some(Event::Error(error)) if error.is_amqp_soft_error() => true,
        Some(Event::Error(error)) => {
            let told = failed(&error, Operation::Connect);
            fate.end(gone(told.to_string()).caused_by(told));
            false
        }
        Some(Event::ConnectionBlocked(why)) => {
            tracing::warn!(why = clipped(&why), "the broker takes no messages for now");
            fate.block(Some(clipped(&why)));
            true
        }
        Some(Event::ConnectionUnblocked) => {
            tracing::info!("the broker takes messages again");
            fate.block(None);
            true
        }
        Some(_) => true,
        None => false,
    }
}

/// Whether it is the reason why an earlier channel of that number was closed: a broker has none to refuse a
/// channel without ending the connection.
fn is_stale(error: &lapin::Error) -> bool {
    error.is_amqp_soft_error() || matches!(error.kind(), lapin::ErrorKind::InvalidChannelState(..))
}

fn gone(why: impl Into<std::borrow::Cow<'static, str>>) -> TransportError {
    TransportError::new(ErrorKind::Disconnected, Operation::Connect).detail(why)
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("status", self.connection.status()).finish_non_exhaustive()
    }
}
