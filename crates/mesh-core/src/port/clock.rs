use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::time::Timestamp;

/// Time, passed in. The core has none of its own; a test moves one by hand.
#[async_trait]
pub trait Clock: Send + Sync + fmt::Debug {
    /// The wall clock. It may jump; use it to stamp, not to measure.
    fn now(&self) -> Timestamp;

    /// Time since an arbitrary beginning, never going back; use it to measure.
    fn monotonic(&self) -> Duration;

    /// Returns once [`monotonic`](Self::monotonic) has grown by `duration`. Dropping the future
    /// cancels it.
    async fn sleep(&self, duration: Duration);
}
