use std::task::Waker;
use std::time::Duration;

use mesh_core::dead_letter::DeadReason;
use mesh_core::message::Message;
use mesh_core::port::Reason;
use mesh_core::topology::ConsumerRef;
use smallvec::SmallVec;

/// What a change of a stream asks for, to be done once its lock is free.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Effects {
    /// Readers that may find something.
    pub(crate) wake: SmallVec<[Waker; 2]>,
    /// When to look at which consumer again.
    pub(crate) look_at: SmallVec<[(Duration, ConsumerRef); 1]>,
    /// Messages that were given up.
    pub(crate) burials: Vec<Burial>,
}

/// A message that a consumer gave up.
#[derive(Debug)]
pub(crate) struct Burial {
    pub(crate) consumer: ConsumerRef,
    /// Which consumer of its name: it may be retired and made again meanwhile.
    pub(crate) instance: u64,
    pub(crate) sequence: u64,
    pub(crate) deliveries: u32,
    /// Nothing where the stream has let it go.
    pub(crate) message: Option<Message>,
    pub(crate) reason: DeadReason,
    pub(crate) error: Option<Reason>,
}
