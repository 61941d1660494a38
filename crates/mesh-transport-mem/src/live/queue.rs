use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker, ready};

use mesh_core::port::{ReceiveError, TransportError};
use parking_lot::Mutex;
use tokio::task::coop;

/// What waits for one reader: at most `capacity` items, and word of what did not fit, in its place
/// among them. Writers append under a lock; the reader takes everything at once and then reads
/// without one, unless what it has not read must stay here to be handed on.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    shared: Mutex<Shared<T>>,
    /// How much of what the reader took it has not read yet. A writer that sees an old value sees
    /// a higher one, and refuses too early rather than too late.
    unread: AtomicUsize,
    capacity: usize,
    one_by_one: bool,
}

#[derive(Debug)]
struct Shared<T> {
    entries: VecDeque<Entry<T>>,
    items: usize,
    /// How many items the reader has taken, read or not.
    taken: u64,
    /// The highest that `unread` can be.
    lent: usize,
    /// Dropped since the last entry.
    lost: u64,
    /// A writer has waited in vain since the reader last came.
    stuck: bool,
    end: Option<End>,
    waker: Option<Waker>,
}

#[derive(Debug)]
enum Entry<T> {
    Item(T),
    Lost(u64),
    Word(ReceiveError),
}

/// Why a queue takes nothing more.
#[derive(Debug, Clone)]
pub(crate) enum End {
    /// On purpose, on this side.
    Closed,
    /// For this reason, which the reader is told.
    Because(TransportError),
}

/// What became of an offer. What was not taken comes back.
#[derive(Debug)]
pub(crate) enum Offer<T> {
    /// It waits for the reader.
    Taken,
    /// There is no room.
    Full(T, Fullness),
    /// The reader is gone.
    Gone(T),
}

/// How a reader without room stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fullness {
    /// How much it has read so far. While that grows it is worth to wait a little.
    pub(crate) read: u64,
    /// A writer has waited in vain since the reader last took something.
    pub(crate) stuck: bool,
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            shared: Mutex::new(Shared {
                entries: VecDeque::new(),
                items: 0,
                taken: 0,
                lent: 0,
                lost: 0,
                stuck: false,
                end: None,
                waker: None,
            }),
            unread: AtomicUsize::new(0),
            capacity,
            one_by_one: false,
        }
    }

    /// One whose reader takes a single item at a time: the others can be [drained](Self::drain).
    pub(crate) fn one_by_one(capacity: usize) -> Self {
        Self { one_by_one: true, ..Self::new(capacity) }
    }

    /// Adds `item` if there is room.
    pub(crate) fn offer(&self, item: T) -> Offer<T> {
        let mut shared = self.shared.lock();
        if shared.end.is_some() {
            return Offer::Gone(item);
        }
        if !self.has_room(&mut shared) {
            let fullness =
                Fullness { read: shared.taken - shared.lent as u64, stuck: shared.stuck };
            return Offer::Full(item, fullness);
        }
        let waker = shared.add(item);
        drop(shared);
        if let Some(waker) = waker {
            waker.wake();
        }
        Offer::Taken
    }

    /// Adds `item`, or drops it and counts it as lost. `in_vain`: somebody has waited for the reader
    /// while it read nothing. The answer is whether it was added.
    pub(crate) fn insist(&self, item: T, in_vain: bool) -> bool {
        let mut shared = self.shared.lock();
        if shared.end.is_some() {
            return false;
        }
        let added = self.has_room(&mut shared);
        let waker = if added {
            shared.add(item)
        } else {
            shared.stuck |= in_vain;
            shared.lost += 1;
            None
        };
        drop(shared);
        if let Some(waker) = waker {
            waker.wake();
        }
        added
    }

    /// Adds a word about the subscription, or counts it as lost where there are too many.
    pub(crate) fn tell(&self, word: ReceiveError) {
        let mut shared = self.shared.lock();
        if shared.end.is_some() {
            return;
        }
        let waker = if shared.entries.len() < self.capacity.saturating_mul(2).max(16) {
            shared.tell_lost();
            shared.entries.push_back(Entry::Word(word));
            shared.waker.take()
        } else {
            shared.lost += 1;
            None
        };
        drop(shared);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn has_room(&self, shared: &mut Shared<T>) -> bool {
        if shared.items + shared.lent < self.capacity {
            return true;
        }
        shared.lent = self.unread.load(Ordering::Relaxed);
        shared.items + shared.lent < self.capacity
    }

    /// Takes nothing more; what waits is still read, then `end` is told.
    pub(crate) fn end(&self, end: End) {
        let mut shared = self.shared.lock();
        if shared.end.is_none() {
            shared.end = Some(end);
        }
        let waker = shared.waker.take();
        drop(shared);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes out what the reader has not taken yet.
    pub(crate) fn drain(&self) -> Vec<T> {
        let entries = {
            let mut shared = self.shared.lock();
            shared.items = 0;
            std::mem::take(&mut shared.entries)
        };
        entries
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Item(item) => Some(item),
                Entry::Lost(_) | Entry::Word(_) => None,
            })
            .collect()
    }
}

impl<T> Shared<T> {
    fn add(&mut self, item: T) -> Option<Waker> {
        self.tell_lost();
        self.entries.push_back(Entry::Item(item));
        self.items += 1;
        self.waker.take()
    }

    fn tell_lost(&mut self) {
        if self.lost > 0 {
            self.entries.push_back(Entry::Lost(self.lost));
            self.lost = 0;
        }
    }
}

/// The reading side of a [`Queue`].
#[derive(Debug)]
pub(crate) struct Reader<T> {
    taken: VecDeque<Entry<T>>,
    unread: usize,
    ended: bool,
}

impl<T> Reader<T> {
    pub(crate) fn new() -> Self {
        Self { taken: VecDeque::new(), unread: 0, ended: false }
    }

    /// The next item of `queue`, which must always be the same.
    pub(crate) fn poll(
        &mut self,
        queue: &Queue<T>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, ReceiveError>>> {
        let budget = ready!(coop::poll_proceed(context));
        loop {
            if let Some(entry) = self.taken.pop_front() {
                budget.made_progress();
                return Poll::Ready(Some(match entry {
                    Entry::Item(item) => {
                        self.unread -= 1;
                        queue.unread.store(self.unread, Ordering::Relaxed);
                        Ok(item)
                    }
                    Entry::Lost(lost) => Err(ReceiveError::Lagged { lost }),
                    Entry::Word(word) => Err(word),
                }));
            }
            if self.ended {
                return Poll::Ready(None);
            }
            let mut shared = queue.shared.lock();
            shared.tell_lost();
            if shared.entries.is_empty() {
                let Some(end) = &shared.end else {
                    let known = shared.waker.as_ref();
                    if !known.is_some_and(|waker| waker.will_wake(context.waker())) {
                        shared.waker = Some(context.waker().clone());
                    }
                    return Poll::Pending;
                };
                self.ended = true;
                return Poll::Ready(match end {
                    End::Closed => None,
                    End::Because(error) => Some(Err(ReceiveError::Ended(error.clone()))),
                });
            }
            if queue.one_by_one {
                let entry = shared.entries.pop_front();
                self.unread = usize::from(matches!(entry, Some(Entry::Item(_))));
                shared.items -= self.unread;
                self.taken.extend(entry);
            } else {
                std::mem::swap(&mut self.taken, &mut shared.entries);
                self.unread = std::mem::take(&mut shared.items);
            }
            shared.taken += self.unread as u64;
            shared.lent = self.unread;
            shared.stuck = false;
            queue.unread.store(self.unread, Ordering::Relaxed);
        }
    }
}
