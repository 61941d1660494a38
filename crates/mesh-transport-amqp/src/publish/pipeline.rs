use std::sync::Arc;

use lapin::Channel;
use lapin::options::ConfirmSelectOptions;
use mesh_core::port::{Operation, TransportError};
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::Outgoing;
use super::flight::Flight;
use crate::error::failed;
use crate::wire::Wire;

/// The channel where many messages wait for their confirmation. One that was closed is replaced.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    current: Mutex<Option<Arc<Shared>>>,
    /// Held by whoever opens the next.
    opening: tokio::sync::Mutex<()>,
}

/// A channel that many publish on.
#[derive(Debug)]
pub(super) struct Shared {
    channel: Channel,
    turn: Mutex<()>,
}

impl Pipeline {
    /// The channel as it is now.
    pub(super) async fn channel(
        &self,
        wire: &Wire,
        operation: Operation,
        due: Instant,
    ) -> Result<Arc<Shared>, TransportError> {
        if let Some(shared) = self.standing() {
            return Ok(shared);
        }
        let _opening = self.opening.lock().await;
        if let Some(shared) = self.standing() {
            return Ok(shared);
        }
        let channel = confirming(wire, operation, due).await?;
        let shared = Arc::new(Shared { channel, turn: Mutex::new(()) });
        *self.current.lock() = Some(Arc::clone(&shared));
        Ok(shared)
    }

    /// The channel, if one stands.
    pub(super) fn standing(&self) -> Option<Arc<Shared>> {
        self.current.lock().clone().filter(|shared| shared.channel.status().connected())
    }
}

impl Shared {
    /// Publishes; fails if the channel is closed before the broker's word on this message.
    pub(super) fn publish(&self, outgoing: &Outgoing, place: OwnedSemaphorePermit) -> Flight {
        let channel = self.channel.clone();
        Flight::launch(channel, outgoing, &self.turn, move |_| drop(place))
    }
}

/// A new channel in confirm mode.
pub(super) async fn confirming(
    wire: &Wire,
    operation: Operation,
    due: Instant,
) -> Result<Channel, TransportError> {
    let channel = wire.channel(operation, due).await?;
    let selecting = channel.confirm_select(ConfirmSelectOptions::default());
    selecting.await.map_err(|error| failed(&error, operation))?;
    Ok(channel)
}
