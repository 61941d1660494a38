//! What changes, for one who watches.

use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::{StreamExt as _, stream};
use mesh_core::store::{Change, Changes, StoreError, StoreErrorKind};
use tokio::sync::broadcast::{Receiver, error::RecvError};

use super::StoreBucket;
use super::table::{StateTable, Told, View};
use crate::writer::Outlives;

/// How many expired entries a watcher takes away at a time.
const AT_ONCE: i64 = 256;

/// What stands there now, then what changes. It has expired entries taken away itself, at their time.
pub(super) async fn watch(bucket: StoreBucket) -> Result<Changes, StoreError> {
    let name = bucket.name().clone();
    let viewed = bucket.writer().ask(Outlives::Kill, bucket.about(""), move |tables| {
        tables.state.view(tables.file, &name, tables.now)
    });
    let closed = || StoreError::new(StoreErrorKind::Unavailable, "the bucket is closed");
    let View { present, number, changes } = viewed.await?.ok_or_else(closed)?;
    let watching = Watching { bucket, number, changes, due: Due::Unknown };
    let present = stream::iter(present).chain(stream::iter([Change::Caught])).map(Ok);
    Ok(Box::pin(present.chain(stream::unfold(Some(watching), |watching| async {
        let mut watching = watching?;
        match watching.next().await {
            Ok(change) => Some((Ok(change), Some(watching))),
            Err(error) => Some((Err(error), None)),
        }
    }))))
}

struct Watching {
    bucket: StoreBucket,
    /// The number of the last change that was told.
    number: i64,
    changes: Receiver<Told>,
    due: Due,
}

/// When the next entry ends.
enum Due {
    Unknown,
    Never,
    /// Then, by the measured time.
    At(Duration),
}

impl Watching {
    async fn next(&mut self) -> Result<Change, StoreError> {
        loop {
            if matches!(self.due, Due::Unknown) {
                self.due = self.expire().await?;
            }
            let told = {
                let receive = std::pin::pin!(self.changes.recv());
                match self.due {
                    Due::At(due) => {
                        let clock = self.bucket.clock();
                        let rest = due.saturating_sub(clock.monotonic());
                        match select(receive, clock.sleep(rest)).await {
                            Either::Left((told, _)) => Some(told),
                            Either::Right(_) => None,
                        }
                    }
                    _ => Some(receive.await),
                }
            };
            let Some(told) = told else {
                self.due = Due::Unknown;
                continue;
            };
            let (number, change) = told.map_err(|error| gone(&error))?;
            // What is written may end earlier than all else.
            if matches!(change, Change::Written(..)) {
                self.due = Due::Unknown;
            }
            if number > self.number {
                self.number = number;
                return Ok(change);
            }
        }
    }

    /// Has expired entries taken away, and asks when the next one ends.
    async fn expire(&self) -> Result<Due, StoreError> {
        let about = self.bucket.about("");
        let next = self.bucket.writer().ask(Outlives::Kill, about, |tables| {
            tables.state.expire(tables.file, tables.now, AT_ONCE)?;
            let next = StateTable::next_end(tables.file)?;
            Ok(next.map(|ends| ends.saturating_sub(tables.now)))
        });
        let Some(rest) = next.await? else { return Ok(Due::Never) };
        let rest = Duration::from_millis(rest.max(0).unsigned_abs());
        Ok(Due::At(self.bucket.clock().monotonic().saturating_add(rest)))
    }
}

fn gone(error: &RecvError) -> StoreError {
    let detail = match error {
        RecvError::Lagged(_) => "the watcher was left behind; it watches anew",
        RecvError::Closed => "the store is closed",
    };
    StoreError::new(StoreErrorKind::Unavailable, detail)
}
