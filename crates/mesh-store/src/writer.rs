//! How calls reach the thread that has the file, and their answers come back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use mesh_core::port::Clock;
use mesh_core::store::{StoreError, StoreErrorKind};
use rusqlite::{Connection, Result};
use tokio::sync::{mpsc, oneshot};

use crate::error::OpenError;
use crate::handled::Table;
use crate::keeper::Keeper;
use crate::key::Digest;
use crate::options::StoreOptions;
use crate::state::StateTable;

/// How many calls may wait; whoever comes then waits before them.
const QUEUE: usize = 1024;

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

pub(crate) enum Call {
    Do(Box<dyn Work>),
    Close(oneshot::Sender<()>),
}

/// A call's part of a transaction, and then its answer.
pub(crate) trait Work: Send {
    fn outlives(&self) -> Outlives;
    /// The key that it is about.
    fn about(&self) -> &Digest;
    fn run(&mut self, tables: &mut Tables<'_>) -> Result<()>;
    fn answer(self: Box<Self>, committed: std::result::Result<(), StoreError>);
}

/// What a call works on.
pub(crate) struct Tables<'a> {
    pub(crate) file: &'a Connection,
    pub(crate) handled: &'a mut Table,
    pub(crate) state: &'a mut StateTable,
    pub(crate) now: i64,
}

struct Asked<T, F> {
    outlives: Outlives,
    about: Digest,
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

    fn about(&self) -> &Digest {
        &self.about
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
        about: Digest,
        work: impl FnMut(&mut Tables<'_>) -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let asked = Box::new(Asked { outlives, about, work, made: None, answer });
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
