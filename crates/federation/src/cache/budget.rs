use std::time::Duration;

use parking_lot::Mutex;

/// How many realms that nobody has configured may be asked: a bucket of tokens that fills with time. A flood
/// of invented names then makes no flood of questions.
#[derive(Debug)]
pub(crate) struct Budget {
    most: u32,
    each: Duration,
    /// When the bucket is full again.
    full_at: Mutex<Duration>,
}

impl Budget {
    /// `most` at once, and another one `each`.
    pub(crate) fn new(most: u32, each: Duration) -> Self {
        Self { most, each, full_at: Mutex::new(Duration::ZERO) }
    }

    /// Takes one, if there is one at `now`.
    pub(crate) fn take(&self, now: Duration) -> bool {
        let mut full_at = self.full_at.lock();
        let after = (*full_at).max(now).saturating_add(self.each);
        if after > now.saturating_add(self.each.saturating_mul(self.most)) {
            return false;
        }
        *full_at = after;
        true
    }
}
