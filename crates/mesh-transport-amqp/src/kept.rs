//! What is made when it is first needed, kept, and made again when it does not last.

use std::sync::Arc;

use mesh_core::port::{Operation, TransportError};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::error::timed_out;

/// What may be over one day.
pub(crate) trait Lasts {
    /// Whether it is of use yet.
    fn lasts(&self) -> bool;
}

impl Lasts for lapin::Channel {
    fn lasts(&self) -> bool {
        self.status().connected()
    }
}

/// See the module. Made by one at a time; those who find it wait for nobody.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    now: Mutex<Option<Arc<T>>>,
    making: tokio::sync::Mutex<()>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { now: Mutex::default(), making: tokio::sync::Mutex::default() }
    }
}

impl<T: Lasts + Send + Sync> Kept<T> {
    /// What is kept, or what `make` makes.
    ///
    /// # Errors
    /// Those of `make`; `TimedOut` where another takes too long to make it.
    pub(crate) async fn or_made<F>(
        &self,
        operation: Operation,
        due: Instant,
        make: impl FnOnce() -> F + Send,
    ) -> Result<Arc<T>, TransportError>
    where
        F: Future<Output = Result<Arc<T>, TransportError>> + Send,
    {
        match self.lasting() {
            Some(kept) => Ok(kept),
            // Boxed, since it is seldom needed.
            None => Box::pin(self.made(operation, due, make())).await,
        }
    }

    /// Keeps it no longer.
    pub(crate) fn let_go(&self) {
        *self.now.lock() = None;
    }

    async fn made(
        &self,
        operation: Operation,
        due: Instant,
        make: impl Future<Output = Result<Arc<T>, TransportError>> + Send,
    ) -> Result<Arc<T>, TransportError> {
        // Whoever makes it may have more time.
        let making = timeout_at(due, self.making.lock()).await;
        let _making = making.map_err(|_| timed_out(operation))?;
        if let Some(kept) = self.lasting() {
            return Ok(kept);
        }
        let made = make.await?;
        *self.now.lock() = Some(Arc::clone(&made));
        Ok(made)
    }

    fn lasting(&self) -> Option<Arc<T>> {
        self.now.lock().clone().filter(|kept| kept.lasts())
    }
}
