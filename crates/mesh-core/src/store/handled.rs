use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use super::StoreError;
use crate::event::EventId;
use crate::name::{ConsumerName, ModuleName};
use crate::subject::Filter;

/// What is handled once: one event, by one handler of one consumer (protocol §3). Two nodes that share
/// a store are two consumers. An id is its emitter's own, so the emitting module, as the subject
/// proves it, is part of the key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "stores build and read it")]
pub struct HandledKey {
    /// The consumer: `<node>_<module>`.
    pub consumer: ConsumerName,
    /// The handler: its pattern.
    pub handler: Filter,
    /// The emitting module.
    pub module: ModuleName,
    /// The event.
    pub event: EventId,
}

/// What a store knows of an event and a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "whoever runs handlers must know each")]
pub enum Handled {
    /// It was handled, by this handler.
    Yes,
    /// It was not, or longer ago than the store remembers.
    No,
    /// Its handler was begun earlier, and how that came out was never recorded: the process was killed
    /// meanwhile, the handler was cut off when its broker closed, or the store failed just then. It may
    /// have done its work, in part or in full.
    Interrupted,
}

/// Remembers what was handled, so that a delivery that comes again is not handled again (protocol §3).
///
/// A handler is run between [`begin`](Self::begin) and [`record`](Self::record), or
/// [`forget`](Self::forget) where it fails; the broker is told after that. Where a call fails the event
/// is tried again later.
#[async_trait]
pub trait HandledStore: Send + Sync + fmt::Debug {
    /// Says what is known of it. Unless it was handled, it is noted that its handler begins now: where
    /// the process ends before one of the two calls below, the next `begin` answers
    /// [`Interrupted`](Handled::Interrupted). A store that does not outlive the process need not note it.
    ///
    /// # Errors
    /// [`StoreError`] when the store can't say. The handler is then not run.
    async fn begin(&self, key: &HandledKey) -> Result<Handled, StoreError>;

    /// It was handled, perhaps not for the first time: that is remembered from now on for the
    /// [`window`](Self::window). A durable store answers once it is on the disk.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be recorded.
    async fn record(&self, key: HandledKey) -> Result<(), StoreError>;

    /// Its handler has ended without having handled it: the next `begin` finds nothing. One that is
    /// recorded as handled stays so.
    ///
    /// # Errors
    /// [`StoreError`] when that could not be noted. The next run may then be called interrupted.
    async fn forget(&self, key: &HandledKey) -> Result<(), StoreError>;

    /// How long it remembers, at least.
    fn window(&self) -> Duration;
}
