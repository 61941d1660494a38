use std::time::Duration;

use async_trait::async_trait;
use mesh_core::port::Clock;
use mesh_core::time::Timestamp;
use tokio::sync::watch;

/// A clock that stands until it is moved.
#[derive(Debug)]
pub(super) struct ManualClock(watch::Sender<Duration>);

impl ManualClock {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Duration::ZERO))
    }

    pub(super) fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now += by);
    }

    /// How many sleep.
    pub(super) fn sleepers(&self) -> usize {
        self.0.receiver_count()
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        let millis = self.monotonic().as_millis();
        Timestamp::from_millis(1_700_000_000_000 + i64::try_from(millis).unwrap())
    }

    fn monotonic(&self) -> Duration {
        *self.0.borrow()
    }

    async fn sleep(&self, duration: Duration) {
        let due = self.monotonic() + duration;
        let mut now = self.0.subscribe();
        now.wait_for(|now| *now >= due).await.unwrap();
    }
}
