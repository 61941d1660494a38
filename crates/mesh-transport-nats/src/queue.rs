//! What waits for the reader of a live subscription: bounded, and honest about what did not fit.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use mesh_core::port::{ReceiveError, TransportError};
use parking_lot::Mutex;

/// See the module. Written by one task and read by another.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    shared: Mutex<Shared<T>>,
    capacity: usize,
}

#[derive(Debug)]
struct Shared<T> {
    entries: VecDeque<Result<T, ReceiveError>>,
    items: usize,
    /// Dropped since the last entry.
    lost: u64,
    /// Whether something may be missing since the last entry, and nobody knows how much.
    interrupted: bool,
    end: Option<Option<TransportError>>,
    waker: Option<Waker>,
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { shared: Mutex::default(), capacity }
    }

    /// Adds an arrival, or drops and counts it where there is no room.
    pub(crate) fn push(&self, item: T) {
        let mut shared = self.shared.lock();
        if shared.items >= self.capacity {
            shared.lost += 1;
            return;
        }
        shared.tell_lost();
        shared.items += 1;
        shared.entries.push_back(Ok(item));
        wake(shared);
    }

    /// Adds a word in place of an arrival, or counts it as lost like an arrival where there is no room.
    pub(crate) fn tell(&self, word: ReceiveError) {
        let mut shared = self.shared.lock();
        if shared.entries.len() >= self.capacity.saturating_mul(2).max(16) {
            shared.lost += 1;
            return;
        }
        shared.tell_lost();
        shared.entries.push_back(Err(word));
        wake(shared);
    }

    /// Says once, after what waits, that something may be missing there.
    pub(crate) fn interrupt(&self) {
        let mut shared = self.shared.lock();
        shared.interrupted = true;
        wake(shared);
    }

    /// Ends it after what it holds: for a reason, or on purpose.
    pub(crate) fn end(&self, error: Option<TransportError>) {
        let mut shared = self.shared.lock();
        shared.end.get_or_insert(error);
        wake(shared);
    }

    /// The next entry for the reader.
    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Result<T, ReceiveError>>> {
        let mut shared = self.shared.lock();
        if shared.entries.is_empty() {
            shared.tell_lost();
        }
        if let Some(entry) = shared.entries.pop_front() {
            shared.items -= usize::from(entry.is_ok());
            return Poll::Ready(Some(entry));
        }
        match &mut shared.end {
            Some(end) => Poll::Ready(end.take().map(|error| Err(ReceiveError::Ended(error)))),
            None => {
                let waker = context.waker();
                if !shared.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
                    shared.waker = Some(waker.clone());
                }
                Poll::Pending
            }
        }
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        let entries = VecDeque::new();
        Self { entries, items: 0, lost: 0, interrupted: false, end: None, waker: None }
    }
}

impl<T> Shared<T> {
    /// Tells what happened since the last entry.
    fn tell_lost(&mut self) {
        if self.lost > 0 {
            let lost = std::mem::take(&mut self.lost);
            self.entries.push_back(Err(ReceiveError::Lagged { lost }));
        }
        if std::mem::take(&mut self.interrupted) {
            self.entries.push_back(Err(ReceiveError::Interrupted));
        }
    }
}

fn wake<T>(mut shared: parking_lot::MutexGuard<'_, Shared<T>>) {
    let waker = shared.waker.take();
    drop(shared);
    if let Some(waker) = waker {
        waker.wake();
    }
}
