//! The one thread that reads and writes the file. It takes all that waits at a time into one transaction,
//! so that many share one wait for the disk.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mesh_core::port::Clock;
use mesh_core::store::{StoreError, StoreErrorKind};
use rusqlite::{Connection, Result};
use tokio::sync::{mpsc, oneshot};

use crate::error::{OpenError, store_error};
use crate::file;
use crate::handled::Table;
use crate::options::StoreOptions;
use crate::time::{StoreTime, millis};

/// How many calls may wait; whoever comes then waits before them.
const QUEUE: usize = 1024;
/// How many calls go together at most.
const TOGETHER: usize = 256;
/// How many rows are taken away in a transaction, beside two for each call.
const TIDIED: usize = 64;

/// What was written must outlive this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outlives {
    /// The end of this process, at any moment. The system has it.
    Kill,
    /// That of the machine. The disk has it.
    PowerCut,
}

/// The thread's end of the queue. Dropped, the thread finishes what waits and closes the file.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    calls: mpsc::Sender<Call>,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) rows: AtomicI64,
    pub(crate) evicted: AtomicI64,
}

enum Call {
    Do(Box<dyn Work>),
    Close(oneshot::Sender<()>),
}

/// A call's part of a transaction, and then its answer.
trait Work: Send {
    fn outlives(&self) -> Outlives;
    fn run(&mut self, tables: &mut Tables<'_>) -> Result<()>;
    fn answer(self: Box<Self>, committed: std::result::Result<(), StoreError>);
}

/// What a call works on.
pub(crate) struct Tables<'a> {
    pub(crate) file: &'a Connection,
    pub(crate) handled: &'a mut Table,
    pub(crate) now: i64,
}

struct Asked<T, F> {
    outlives: Outlives,
    work: F,
    made: Option<T>,
    answer: oneshot::Sender<std::result::Result<T, StoreError>>,
}

impl<T, F> Work for Asked<T, F>
where
    T: Send,
    F: FnMut(&mut Tables<'_>) -> Result<T> + Send,
{
    fn outlives(&self) -> Outlives {
        self.outlives
    }

    fn run(&mut self, tables: &mut Tables<'_>) -> Result<()> {
        // Nobody may wait for it any more, and then what it notes would be wrong; but what is to be on the
        // disk is true all the same.
        if self.outlives == Outlives::PowerCut || !self.answer.is_closed() {
            self.made = Some((self.work)(tables)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, committed: std::result::Result<(), StoreError>) {
        let answer = match (committed, self.made) {
            (Ok(()), Some(made)) => Ok(made),
            (Ok(()), None) => return,
            (Err(error), _) => Err(error),
        };
        // Who has left has no use for it.
        let _ = self.answer.send(answer);
    }
}

impl Writer {
    /// Opens the file on a thread of its own.
    pub(crate) async fn start(
        path: &Path,
        clock: Arc<dyn Clock>,
        options: StoreOptions,
    ) -> std::result::Result<Self, OpenError> {
        let (calls, waiting) = mpsc::channel(QUEUE);
        let counts = Arc::new(Counts::default());
        let (opened, opening) = oneshot::channel();
        let (of_thread, at) = (Arc::clone(&counts), path.to_owned());
        let work = move || match Keeper::open(&at, clock, options, of_thread) {
            Ok(keeper) => {
                if opened.send(Ok(())).is_ok() {
                    keeper.run(waiting);
                }
            }
            Err(error) => {
                let _ = opened.send(Err(error));
            }
        };
        let spawned = std::thread::Builder::new().name("mesh-store".into()).spawn(work);
        spawned.map_err(|error| OpenError::failed(path, error))?;
        let gone = || Err(OpenError::Failed { path: path.to_owned(), source: closed() });
        opening.await.unwrap_or_else(|_| gone())?;
        Ok(Self { calls, counts })
    }

    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Has it done, and waits until it outlives that.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        outlives: Outlives,
        work: impl FnMut(&mut Tables<'_>) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let asked = Box::new(Asked { outlives, work, made: None, answer });
        self.calls.send(Call::Do(asked)).await.map_err(|_| closed())?;
        answered.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Closes the file after what waits is done.
    pub(crate) async fn close(&self) {
        let (closed, closing) = oneshot::channel();
        if self.calls.send(Call::Close(closed)).await.is_ok() {
            // It answers, or has ended.
            let _ = closing.await;
        }
        self.calls.closed().await;
    }
}

fn closed() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "it is closed")
}

/// What the thread has.
struct Keeper {
    file: Connection,
    time: StoreTime,
    handled: Table,
    max_bytes: i64,
    /// What the next transaction will outlive, as the database was told last.
    outlives: Outlives,
    /// The last transaction failed.
    failing: bool,
    counts: Arc<Counts>,
}

impl Keeper {
    fn open(
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
            Ok((handled, Table::last(&file)?))
        };
        let (handled, last) = read().map_err(|error| OpenError::of(path, error))?;
        let keeper = Self {
            time: StoreTime::since(clock, last),
            file,
            handled,
            max_bytes: i64::try_from(options.max_bytes).unwrap_or(i64::MAX),
            outlives: Outlives::PowerCut,
            failing: false,
            counts,
        };
        keeper.count();
        Ok(keeper)
    }

    fn run(mut self, mut waiting: mpsc::Receiver<Call>) {
        let mut calls = Vec::with_capacity(TOGETHER);
        let mut closing = None;
        while closing.is_none() && waiting.blocking_recv_many(&mut calls, TOGETHER) > 0 {
            // What only has to outlive the process does not wait for the disk.
            let (mut quick, mut slow) = (Vec::new(), Vec::new());
            for call in calls.drain(..) {
                match call {
                    Call::Do(work) if work.outlives() == Outlives::Kill => quick.push(work),
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
            tracing::warn!(%error, "closing the store");
        }
        // Only now: its end tells that the file is closed.
        drop(waiting);
        if let Some(closed) = closing {
            // Who has left has no use for it.
            let _ = closed.send(());
        }
    }

    fn commit(&mut self, outlives: Outlives, mut works: Vec<Box<dyn Work>>) {
        let before = self.handled;
        let committed = self.transaction(outlives, &mut works).map_err(|error| {
            self.handled = before;
            // Where it can't be rolled back the next one can't begin, and says so.
            let rolled_back = self.file.is_autocommit() || self.file.execute_batch("ROLLBACK").is_ok();
            if !std::mem::replace(&mut self.failing, true) {
                tracing::error!(%error, rolled_back, "the store fails; events are tried again later");
            }
            store_error(error)
        });
        if committed.is_ok() {
            if std::mem::take(&mut self.failing) {
                tracing::info!("the store works again");
            }
            if before.evicted == 0 && self.handled.evicted > 0 {
                tracing::warn!(
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
        self.file.execute_batch("BEGIN IMMEDIATE")?;
        let now = self.time.now();
        let mut tables = Tables { file: &self.file, handled: &mut self.handled, now };
        for work in works.iter_mut() {
            work.run(&mut tables)?;
        }
        let crowded = in_use(&self.file)? > self.max_bytes;
        let most = i64::try_from(TIDIED + 2 * works.len()).unwrap_or(i64::MAX);
        self.handled.tidy(&self.file, now, crowded, most)?;
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
