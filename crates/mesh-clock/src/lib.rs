#![doc = include_str!("../README.md")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use mesh_core::port::Clock;
use mesh_core::time::Timestamp;
use tokio::time::Instant;

/// The machine's wall clock and tokio's timer. In a test with tokio's paused time, measured spans
/// and sleeps follow the paused time; the wall clock does not.
///
/// ```
/// use mesh_clock::SystemClock;
/// use mesh_core::port::Clock as _;
///
/// let clock = SystemClock::new();
/// assert!(clock.now().as_millis() > 1_500_000_000_000);
/// ```
#[derive(Debug, Clone)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// A clock whose measured time begins now.
    #[must_use]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A machine whose clock stands before 1970 is given 1970; one past the year 292 million, that.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
