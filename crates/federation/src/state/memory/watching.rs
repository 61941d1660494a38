//! What changes, for one who watches.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use mesh_core::port::Clock;
use mesh_core::store::{Change, Changes, StoreError, StoreErrorKind};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::Shared;

/// What stands there now, then what changes. It takes expired entries away itself, at their time.
pub(super) fn watch(shared: &Arc<Shared>) -> Changes {
    let (present, changes) = shared.table.lock().watch(shared.clock.monotonic());
    let clock = Arc::clone(&shared.clock);
    let watching = Watching { shared: Arc::downgrade(shared), clock, changes };
    let present = stream::iter(present).chain(stream::iter([Change::Caught])).map(Ok);
    Box::pin(present.chain(stream::unfold(Some(watching), |watching| async {
        let mut watching = watching?;
        match watching.next().await {
            Ok(change) => Some((Ok(change), Some(watching))),
            Err(error) => Some((Err(error), None)),
        }
    })))
}

struct Watching {
    /// A bucket that nobody holds any more is over, also for who watches it.
    shared: Weak<Shared>,
    clock: Arc<dyn Clock>,
    changes: Receiver<Change>,
}

impl Watching {
    async fn next(&mut self) -> Result<Change, StoreError> {
        loop {
            let due = self.expire();
            tokio::select! {
                biased;
                change = self.changes.recv() => return change.map_err(|error| gone(&error)),
                // Another entry may end earlier by then, but not without a change.
                () = sleep(&*self.clock, due), if due.is_some() => {}
            }
        }
    }

    /// Takes away what has expired, and tells in how long the next entry will have.
    fn expire(&self) -> Option<Duration> {
        let shared = self.shared.upgrade()?;
        let now = self.clock.monotonic();
        let mut table = shared.table.lock();
        table.expire(now);
        table.next_end().map(|end| end.saturating_sub(now))
    }
}

async fn sleep(clock: &dyn Clock, due: Option<Duration>) {
    if let Some(due) = due {
        clock.sleep(due).await;
    }
}

fn gone(error: &RecvError) -> StoreError {
    let detail = match error {
        RecvError::Lagged(_) => "the watcher was left behind; it watches anew",
        RecvError::Closed => "the bucket is gone",
    };
    StoreError::new(StoreErrorKind::Unavailable, detail)
}
