//! The one thread that reads and writes the file. It takes all that waits at a time into one transaction,
//! so that many share one wait for the disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mesh_core::port::Clock;
use rusqlite::{Connection, Result};
use tokio::sync::mpsc;

use crate::error::{OpenError, store_error};
use crate::file;
use crate::handled::Table;
use crate::options::StoreOptions;
use crate::state::StateTable;
use crate::time::{StoreTime, millis};
use crate::writer::{Call, Counts, Outlives, Tables, Work};

/// How many calls go together at most.
const TOGETHER: usize = 256;
/// How many rows are taken away in a transaction, beside two for each call.
const TIDIED: usize = 64;

/// What the thread has.
pub(crate) struct Keeper {
    /// For those who read logs.
    path: PathBuf,
    file: Connection,
    time: StoreTime,
    handled: Table,
    state: StateTable,
    max_bytes: i64,
    /// What the next transaction will outlive, as the database was told last.
    outlives: Outlives,
    /// The last transaction failed.
    failing: bool,
    counts: Arc<Counts>,
}

impl Keeper {
    pub(crate) fn open(
        path: &Path,
        clock: Arc<dyn Clock>,
        options: StoreOptions,
        counts: Arc<Counts>,
    ) -> std::result::Result<Self, OpenError> {
        let file = file::open(path)?;
        let read = || {
            file.pragma_update(None, "synchronous", synchronous(Outlives::PowerCut))?;
            let bounds = options.handled;
            let capacity = i64::try_from(bounds.capacity.max(1)).unwrap_or(i64::MAX);
            let handled = Table::open(&file, millis(bounds.window), capacity)?;
            let last = Table::last(&file)?.unwrap_or(0).max(StateTable::last_at(&file)?);
            Ok((handled, StateTable::open(&file)?, (last > 0).then_some(last)))
        };
        let (handled, state, last) = read().map_err(|error| OpenError::of(path, error))?;
        let keeper = Self {
            path: path.to_owned(),
            time: StoreTime::since(clock, last),
            file,
            handled,
            state,
            max_bytes: i64::try_from(options.max_bytes).unwrap_or(i64::MAX),
            outlives: Outlives::PowerCut,
            failing: false,
            counts,
        };
        keeper.count();
        Ok(keeper)
    }

    /// Works until nobody can call any more, or the file is to be closed.
    pub(crate) fn run(mut self, mut waiting: mpsc::Receiver<Call>) {
        let mut calls = Vec::with_capacity(TOGETHER);
        let mut closing = None;
        while closing.is_none() && waiting.blocking_recv_many(&mut calls, TOGETHER) > 0 {
            // What only has to outlive the process does not wait for the disk.
            let (mut quick, mut slow) = (Vec::new(), Vec::<Box<dyn Work>>::new());
            for call in calls.drain(..) {
                match call {
                    // Unless it is about a key that does: whoever asks later hears of it.
                    Call::Do(work)
                        if work.outlives() == Outlives::Kill
                            && slow.iter().all(|before| before.about() != work.about()) =>
                    {
                        quick.push(work);
                    }
                    Call::Do(work) => slow.push(work),
                    Call::Close(closed) => closing = Some(closed),
                }
            }
            for (outlives, works) in [(Outlives::Kill, quick), (Outlives::PowerCut, slow)] {
                if !works.is_empty() {
                    self.commit(outlives, works);
                }
            }
        }
        if let Err((_, error)) = self.file.close() {
            tracing::warn!(path = %self.path.display(), %error, "closing the store");
        }
        // Only now: its end tells that the file is closed.
        drop(waiting);
        if let Some(closed) = closing {
            // Who has left has no use for it.
            let _ = closed.send(());
        }
    }

    fn commit(&mut self, outlives: Outlives, mut works: Vec<Box<dyn Work>>) {
        let (before, before_state) = (self.handled, self.state.before());
        let committed = self.transaction(outlives, &mut works).map_err(|error| {
            self.handled = before;
            self.state.undo(before_state);
            if !std::mem::replace(&mut self.failing, true) {
                tracing::error!(
                    path = %self.path.display(), %error,
                    "the store fails; events are tried again later"
                );
            }
            store_error(error)
        });
        if committed.is_ok() {
            self.state.tell();
            if std::mem::take(&mut self.failing) {
                tracing::info!(path = %self.path.display(), "the store works again");
            }
            if before.evicted == 0 && self.handled.evicted > 0 {
                tracing::warn!(
                    path = %self.path.display(),
                    "the store is full: the oldest events are forgotten before their time"
                );
            }
            self.count();
        }
        for work in works {
            work.answer(committed.clone());
        }
    }

    fn transaction(&mut self, outlives: Outlives, works: &mut [Box<dyn Work>]) -> Result<()> {
        if self.outlives != outlives {
            self.file.pragma_update(None, "synchronous", synchronous(outlives))?;
            self.outlives = outlives;
        }
        if !self.file.is_autocommit() {
            // What one that failed has left.
            self.file.execute_batch("ROLLBACK")?;
        }
        self.file.execute_batch("BEGIN IMMEDIATE")?;
        let now = self.time.now();
        let (handled, state) = (&mut self.handled, &mut self.state);
        let mut tables = Tables { file: &self.file, handled, state, now };
        for work in works.iter_mut() {
            work.run(&mut tables)?;
        }
        let crowded = in_use(&self.file)? > self.max_bytes;
        let most = i64::try_from(TIDIED + 2 * works.len()).unwrap_or(i64::MAX);
        self.handled.tidy(&self.file, now, crowded, most)?;
        self.state.expire(&self.file, now, most)?;
        self.state.keep(&self.file, now)?;
        self.file.execute_batch("COMMIT")
    }

    fn count(&self) {
        self.counts.rows.store(self.handled.rows, Ordering::Relaxed);
        self.counts.evicted.store(self.handled.evicted, Ordering::Relaxed);
    }
}

/// With a log beside the file, `normal` leaves it to the system when that is written out.
fn synchronous(outlives: Outlives) -> &'static str {
    match outlives {
        Outlives::Kill => "normal",
        Outlives::PowerCut => "full",
    }
}

/// How many bytes of the file hold something.
fn in_use(file: &Connection) -> Result<i64> {
    let number = |name: &str| {
        let mut asked = file.prepare_cached(name)?;
        asked.query_row([], |row| row.get::<_, i64>(0))
    };
    let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
    Ok(pages.saturating_mul(number("PRAGMA page_size")?))
}
