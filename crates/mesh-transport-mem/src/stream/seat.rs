use mesh_core::topology::ConsumerRef;
use std::sync::OnceLock;

use crate::live::End;

/// One reader of a durable consumer.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) id: SeatId,
    pub(crate) consumer: ConsumerRef,
    /// Whether others may read beside it.
    pub(crate) shared: bool,
    end: OnceLock<End>,
}

/// Names one reader of a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SeatId(pub(crate) u64);

impl Seat {
    pub(crate) fn new(id: SeatId, consumer: ConsumerRef, shared: bool) -> Self {
        Self { id, consumer, shared, end: OnceLock::new() }
    }

    /// Says why it is over; the first reason stays.
    pub(crate) fn end(&self, end: End) {
        // A second reason comes too late and is not told.
        let _ = self.end.set(end);
    }

    pub(crate) fn over(&self) -> Option<&End> {
        self.end.get()
    }
}
