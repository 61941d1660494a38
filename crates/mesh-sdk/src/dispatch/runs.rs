//! One handler and one event: it runs unless it has handled it, and that it has is recorded.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mesh_core::store::{Handled, HandledKey, StoreError};

use super::Dispatcher;
use crate::event::{HandlerError, ReceivedEvent};
use crate::handlers::Registered;
use crate::limit::limited;

/// How long the store of what was handled is waited for.
const STORE: Duration = Duration::from_secs(10);

impl Dispatcher {
    /// Runs one handler unless it has handled this event, and records that it has.
    pub(super) async fn run(
        &self,
        key: HandledKey,
        registered: &Registered,
        mut received: ReceivedEvent,
    ) -> Result<(), HandlerError> {
        // Of two copies in hand at a time the second waits, and then finds it handled.
        let _turn = self.in_hand.take(key.clone()).await;
        if let Some(rejected) = self.rejections.earlier(&key, received.attempt) {
            return Err(rejected);
        }
        match self.stored(self.handled.begin(&key)).await? {
            Handled::Yes => {
                registered.measured.passed_over();
                return Ok(());
            }
            Handled::No => {}
            Handled::Interrupted => {
                self.interrupted.fetch_add(1, Ordering::Relaxed);
                let HandledKey { handler, module, event, .. } = &key;
                tracing::warn!(consumer = %self.consumer, %handler, %module, %event,
                    "an earlier run of the handler was cut off; it runs again");
                received.interrupted = true;
            }
        }
        let result = self.observed.handle(registered, received).await;
        match result {
            Ok(()) => self.stored(self.handled.record(key)).await,
            Err(error) => {
                if let Err(failure) = self.stored(self.handled.forget(&key)).await {
                    tracing::warn!(consumer = %self.consumer, error = %failure,
                        "a failed run may later be called interrupted");
                }
                if !error.is_retry() {
                    // Before the turn is another copy's.
                    self.rejections.note(key, &error);
                }
                Err(error)
            }
        }
    }

    /// What the store says, if it does so in time. What ails it ails every event, and for longer than one
    /// event's first waits.
    async fn stored<T>(
        &self,
        asking: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, HandlerError> {
        let failure = match limited(&*self.clock, STORE, asking).await {
            Some(Ok(said)) => return Ok(said),
            Some(Err(error)) => error.to_string(),
            None => "the store of what was handled gives no answer".to_owned(),
        };
        Err(HandlerError::retry_after(failure, self.retry.longest))
    }

    /// Records again what was handled of an event that comes again: it must be known from now on, and
    /// the handler that failed may have taken any time.
    pub(super) async fn remember(&self, done: Vec<HandledKey>) {
        for key in done {
            if let Err(error) = self.stored(self.handled.record(key)).await {
                tracing::warn!(consumer = %self.consumer, %error, "may be handled again");
            }
        }
    }
}
