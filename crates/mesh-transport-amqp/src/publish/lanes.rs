use std::sync::Arc;

use mesh_core::port::{ErrorKind, Operation, TransportError};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::flight::{Flight, Line, Unconfirmed};
use super::{Confirmed, Outgoing, Route};
use crate::kept::Lasts;

/// The most channels that carry one message each.
const MOST: usize = 32;

/// How many stay open when nobody waits for one: the client goes through all channels of a connection each
/// time it writes.
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

/// Leave to use one of them.
#[derive(Debug)]
pub(super) struct Room(OwnedSemaphorePermit);

impl Lanes {
    /// Waits until one may be used.
    pub(super) async fn room(&self, operation: Operation) -> Result<Room, TransportError> {
        let room = Arc::clone(&self.room).acquire_owned().await;
        room.map(Room).map_err(|_| TransportError::new(ErrorKind::Closed, operation))
    }

    /// Publishes alone, on a channel that `open` opens where none is free.
    pub(super) async fn publish(
        self: &Arc<Self>,
        route: &Route,
        outgoing: Outgoing,
        (Room(room), place): (Room, OwnedSemaphorePermit),
        open: impl Future<Output = Result<Arc<Line>, TransportError>>,
    ) -> Result<Result<Confirmed, Unconfirmed>, TransportError> {
        let line = match self.taken() {
            Some(line) => line,
            None => open.await?,
        };
        let (lanes, lane) = (Arc::clone(self), Arc::clone(&line));
        let landed = move |spoke: bool| {
            lanes.give_back(spoke.then_some(lane));
            drop((room, place));
        };
        Ok(Flight::new(&line, route, outgoing, landed).await)
    }

    fn taken(&self) -> Option<Arc<Line>> {
        let mut free = self.free.lock();
        std::iter::from_fn(|| free.pop()).find(|line| line.lasts())
    }

    /// For those who wait for room, or for the next who comes.
    fn give_back(&self, line: Option<Arc<Line>>) {
        let most = if self.room.available_permits() == 0 { MOST } else { KEPT };
        let mut free = self.free.lock();
        free.extend(line);
        free.truncate(most);
    }
}
