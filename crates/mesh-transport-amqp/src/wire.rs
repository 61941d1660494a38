//! One connection of the client library, from its first word to its loss. It is never mended.

use std::sync::Arc;
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

/// See the module. Dropped, it ends.
pub(crate) struct Wire {
    connection: Connection,
    plug: Plug,
    fate: Arc<Fate>,
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
        Ok(Self { connection: dialled.connection, plug: dialled.plug, fate: Arc::clone(fate) })
    }

    /// A new channel.
    pub(crate) async fn channel(
        &self,
        operation: Operation,
        due: Instant,
    ) -> Result<Channel, TransportError> {
        let opening = async {
            tokio::select! {
                opened = self.connection.create_channel() => {
                    opened.map_err(|error| failed(&error, operation))
                }
                why = self.fate.over() => Err(lost(operation, why)),
            }
        };
        timeout_at(due, opening).await.unwrap_or_else(|_| Err(timed_out(operation)))
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

fn gone(why: impl Into<std::borrow::Cow<'static, str>>) -> TransportError {
    TransportError::new(ErrorKind::Disconnected, Operation::Connect).detail(why)
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("status", self.connection.status()).finish_non_exhaustive()
    }
}
