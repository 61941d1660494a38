use std::sync::atomic::{AtomicUsize, Ordering};

/// Places for marks that realms without a reserved share have in common.
#[derive(Debug)]
pub(super) struct Pool {
    limit: usize,
    used: AtomicUsize,
}

impl Pool {
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0) }
    }

    /// Takes a place, if there is one.
    pub(super) fn take(&self) -> bool {
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                (used < self.limit).then_some(used + 1)
            })
            .is_ok()
    }

    /// Gives a place back that was taken.
    pub(super) fn give_back(&self) {
        self.used.fetch_sub(1, Ordering::Relaxed);
    }
}
