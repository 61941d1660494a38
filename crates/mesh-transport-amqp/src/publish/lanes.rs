use std::sync::Arc;

use mesh_core::port::{ErrorKind, Operation, TransportError};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::flight::{Flight, Line};
use super::pipeline::confirming;
use super::{Confirmed, Outgoing};
use crate::error::failed;
use crate::wire::Wire;

/// The most channels that carry one message each.
const MOST: usize = 32;

/// How many stay open after a first message to a key: the client goes through all channels of a connection
/// each time it writes. Those that carry messages which must have a receiver are wanted again.
const KEPT: usize = 2;

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
    /// Publishes alone.
    pub(super) async fn publish(
        self: &Arc<Self>,
        wire: &Wire,
        operation: Operation,
        outgoing: Outgoing,
        place: OwnedSemaphorePermit,
        due: Instant,
    ) -> Result<Confirmed, TransportError> {
        let room = Arc::clone(&self.room).acquire_owned().await;
        let room = room.map_err(|_| TransportError::new(ErrorKind::Closed, operation))?;
        let line = match self.taken() {
            Some(line) => line,
            None => confirming(wire, operation, due).await?,
        };
        let (lanes, lane, wanted) = (Arc::clone(self), Arc::clone(&line), outgoing.mandatory);
        let landed = move |spoke| {
            if spoke {
                let mut free = lanes.free.lock();
                if wanted || free.len() < KEPT {
                    free.push(lane);
                }
            }
            drop((room, place));
        };
        let flight = Flight::new(&line, outgoing, landed);
        flight.await.map_err(|error| failed(&error, operation))
    }

    fn taken(&self) -> Option<Arc<Line>> {
        let mut free = self.free.lock();
        std::iter::from_fn(|| free.pop()).find(|line| line.stands())
    }
}
