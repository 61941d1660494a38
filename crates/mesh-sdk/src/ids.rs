//! Ids of events and of spans.

use std::num::NonZeroU64;

use mesh_core::event::EventId;
use mesh_core::time::Timestamp;
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};

/// Where ids come from: the operating system, or a seed.
pub(crate) struct Ids(Mutex<StdRng>);

impl Ids {
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self(Mutex::new(seed.map_or_else(StdRng::from_os_rng, StdRng::seed_from_u64)))
    }

    /// A UUIDv7.
    pub(crate) fn next(&self, now: Timestamp) -> EventId {
        let mut random = [0; 10];
        self.0.lock().fill_bytes(&mut random);
        EventId::v7(now, random)
    }

    /// Of a span in a trace.
    pub(crate) fn span(&self) -> NonZeroU64 {
        NonZeroU64::new(self.0.lock().next_u64()).unwrap_or(NonZeroU64::MIN)
    }
}
