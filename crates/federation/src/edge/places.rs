use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A bounded number of places.
#[derive(Debug, Clone)]
pub(super) struct Places {
    taken: Arc<AtomicUsize>,
    most: usize,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<AtomicUsize>);

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self { taken: Arc::default(), most }
    }

    pub(super) fn take(&self) -> Option<Place> {
        let more = |taken| (taken < self.most).then_some(taken + 1);
        let took = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        took.ok().map(|_| Place(Arc::clone(&self.taken)))
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
