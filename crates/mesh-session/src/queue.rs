//! What waits for the reader of a live subscription: bounded, and honest about what did not fit.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use mesh_core::port::{ReceiveError, TransportError};
use parking_lot::Mutex;

/// What waits for the reader of a live subscription. Written by one task and read by another.
#[derive(Debug)]
pub struct Queue<T> {
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
    /// With room for so many arrivals.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { shared: Mutex::default(), capacity }
    }

    /// Adds an arrival, or drops and counts it where there is no room.
    pub fn push(&self, item: T) {
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
    pub fn tell(&self, word: ReceiveError) {
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
    pub fn interrupt(&self) {
        let mut shared = self.shared.lock();
        shared.interrupted = true;
        wake(shared);
    }

    /// Ends it after what it holds: for a reason, or on purpose.
    pub fn end(&self, error: Option<TransportError>) {
        let mut shared = self.shared.lock();
        shared.end.get_or_insert(error);
        wake(shared);
    }

    /// The next entry for the reader.
    pub fn poll(&self, context: &mut Context<'_>) -> Poll<Option<Result<T, ReceiveError>>> {
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

#[cfg(test)]
mod tests {
    use mesh_core::port::{ErrorKind, Operation};

    use super::*;

    /// What the reader finds now.
    fn read(queue: &Queue<u8>) -> Vec<String> {
        let mut found = Vec::new();
        let mut context = Context::from_waker(Waker::noop());
        while let Poll::Ready(next) = queue.poll(&mut context) {
            match next {
                Some(Ok(item)) => found.push(item.to_string()),
                Some(Err(ReceiveError::Lagged { lost })) => found.push(format!("lost {lost}")),
                Some(Err(ReceiveError::Interrupted)) => found.push("interrupted".to_owned()),
                Some(Err(other)) => found.push(other.to_string()),
                None => return found,
            }
        }
        found
    }

    #[test]
    fn what_does_not_fit_is_counted_where_it_is_missing() {
        let queue = Queue::new(2);
        (1..=5).for_each(|item| queue.push(item));
        assert_eq!(read(&queue), ["1", "2", "lost 3"]);
        queue.push(6);
        assert_eq!(read(&queue), ["6"]);
    }

    #[test]
    fn interruptions_of_a_reader_that_does_not_come_take_no_room() {
        let queue = Queue::new(2);
        for item in 0..100 {
            queue.push(item);
            queue.interrupt();
        }
        assert_eq!(read(&queue), ["0", "interrupted", "1", "lost 98", "interrupted"]);
        queue.interrupt();
        assert_eq!(read(&queue), ["interrupted"]);
    }

    #[test]
    fn words_in_place_of_arrivals_are_bounded_and_counted() {
        let queue: Queue<u8> = Queue::new(1);
        (0..20).for_each(|_| queue.tell(ReceiveError::Lagged { lost: 1 }));
        let found = read(&queue);
        assert_eq!((found.len(), found.last().map(String::as_str)), (17, Some("lost 4")));
    }

    #[test]
    fn the_end_comes_after_all_else_and_once() {
        let queue = Queue::new(1);
        queue.push(1);
        queue.push(2);
        queue.end(Some(TransportError::new(ErrorKind::Denied, Operation::Subscribe)));
        queue.end(None);
        assert_eq!(read(&queue), ["1", "lost 1", "the subscription ended"]);
        assert!(read(&queue).is_empty());
    }
}
