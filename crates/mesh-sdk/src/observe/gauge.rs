use parking_lot::Mutex;

use super::metrics::{Metric, gauge};

/// How many there are of something now: counted here, and told to whoever records it. A recorder that
/// comes later hears the right number with the next change.
pub(crate) struct Gauge {
    metric: Metric,
    /// Held while it is told, so that the last told is the last.
    count: Mutex<usize>,
}

impl Gauge {
    pub(crate) fn new(metric: Metric) -> Self {
        gauge(&metric, 0.0);
        Self { metric, count: Mutex::new(0) }
    }

    pub(crate) fn count(&self) -> usize {
        *self.count.lock()
    }

    /// One more, until what is given is dropped.
    pub(crate) fn enter(&self) -> Entered<'_> {
        self.change(|count| count.saturating_add(1));
        Entered(self)
    }

    fn change(&self, to: impl FnOnce(usize) -> usize) {
        let mut count = self.count.lock();
        *count = to(*count);
        gauge(&self.metric, *count as f64);
    }
}

/// One that a gauge counts.
pub(crate) struct Entered<'a>(&'a Gauge);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.change(|count| count.saturating_sub(1));
    }
}
