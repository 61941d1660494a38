use std::time::Duration;

/// How long to wait before a failed event is tried again: `first` after the first try, twice as
/// long after each further one, never longer than `longest`. How many tries there are is the
/// consumer's setting on the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "two spans")]
pub struct RetryPolicy {
    /// After the first try. 1 s unless told.
    pub first: Duration,
    /// The longest. 60 s unless told.
    pub longest: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), longest: Duration::from_secs(60) }
    }
}

impl RetryPolicy {
    /// The wait after try number `attempt`, which counts from 1.
    ///
    /// ```
    /// use mesh_sdk::RetryPolicy;
    /// use std::time::Duration;
    ///
    /// let policy = RetryPolicy::default();
    /// assert_eq!(policy.after(1), Duration::from_secs(1));
    /// assert_eq!(policy.after(4), Duration::from_secs(8));
    /// assert_eq!(policy.after(99), Duration::from_secs(60));
    /// ```
    #[must_use]
    pub fn after(&self, attempt: u32) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        self.first.saturating_mul(1 << doublings).min(self.longest)
    }
}
