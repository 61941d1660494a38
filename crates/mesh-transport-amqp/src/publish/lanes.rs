use std::sync::Arc;

use mesh_core::port::{ErrorKind, Operation, TransportError};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::flight::{Flight, Line};
use super::{Confirmed, Outgoing, Route};
use crate::error::failed;
use crate::kept::Lasts;

/// The most channels that carry one message each.
const MOST: usize = 32;

/// How many stay open: the client goes through all channels of a connection each time it writes.
const KEPT: usize = 1;

/// Channels on which one message at a time waits for its confirmation: what the broker says there is about
/// that message.
#[derive(Debug)]
pub(super) struct Lanes {
    free: Mutex<Vec<Arc<Line>>>,
    room: Arc<Semaphore>,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { free: Mutex::default(), room: Arc::new(Semaphore::new(MOST)) }
    }
}

impl Lanes {
    /// Publishes alone, on a channel that `open` opens where none is free.
    pub(super) async fn publish(
        self: &Arc<Self>,
        operation: Operation,
        route: &Route,
        outgoing: Outgoing,
        place: OwnedSemaphorePermit,
        open: impl Future<Output = Result<Arc<Line>, TransportError>>,
    ) -> Result<Confirmed, TransportError> {
        let room = Arc::clone(&self.room).acquire_owned().await;
        let room = room.map_err(|_| TransportError::new(ErrorKind::Closed, operation))?;
        let line = match self.taken() {
            Some(line) => line,
            None => open.await?,
        };
        let (lanes, lane) = (Arc::clone(self), Arc::clone(&line));
        let landed = move |spoke| {
            if spoke {
                let mut free = lanes.free.lock();
                if free.len() < KEPT {
                    free.push(lane);
                }
            }
            drop((room, place));
        };
        let flight = Flight::new(&line, route, outgoing, landed);
        flight.await.map_err(|unconfirmed| failed(unconfirmed.error(), operation))
    }

    fn taken(&self) -> Option<Arc<Line>> {
        let mut free = self.free.lock();
        std::iter::from_fn(|| free.pop()).find(|line| line.lasts())
    }
}
