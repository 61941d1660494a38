//! The time by which the file forgets. A span that is measured does not survive a restart, and the wall's
//! clock may be set back.

use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::Clock;

/// Milliseconds that never run backwards, neither in a process nor from one to the next: from the wall's
/// clock, or the last moment that the file knows where that is later, on by what is measured.
///
/// So a clock that is set back makes nothing be forgotten early, and nothing be kept for longer than its
/// time on top of what the processes ran. What a clock that is wrong when the file is opened says of the
/// future is believed: that can't be told from a long absence.
#[derive(Debug)]
pub(crate) struct StoreTime {
    clock: Arc<dyn Clock>,
    /// The time at the opening.
    base: i64,
    /// What was measured then.
    opened: Duration,
}

impl StoreTime {
    /// `last` is the latest moment that the file knows.
    pub(crate) fn since(clock: Arc<dyn Clock>, last: Option<i64>) -> Self {
        let now = clock.now().as_millis();
        Self { base: last.map_or(now, |last| last.max(now)), opened: clock.monotonic(), clock }
    }

    pub(crate) fn now(&self) -> i64 {
        let passed = self.clock.monotonic().saturating_sub(self.opened);
        self.base.saturating_add(millis(passed))
    }
}

pub(crate) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
