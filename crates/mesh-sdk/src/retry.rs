use std::time::Duration;

use mesh_core::topology::{ConsumerRules, StreamName};

/// How long to wait before a failed event is tried again: `first` after the first try, twice as
/// long after each further one, never longer than `longest`. How many tries there are is the
/// consumer's setting on the broker.
///
/// No wait is longer than [`LONGEST`](Self::LONGEST), whoever asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "two spans")]
pub struct RetryPolicy {
    /// After the first try. 1 s unless told.
    pub first: Duration,
    /// The longest. 60 s unless told; at most [`LONGEST`](Self::LONGEST).
    pub longest: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { first: Duration::from_secs(1), longest: Duration::from_secs(60) }
    }
}

impl RetryPolicy {
    /// The longest wait before another try, 15 minutes. A broker that can't wait itself has the event
    /// held for that time, and RabbitMQ takes a channel away whose delivery is held for 30; and what
    /// was handled must be remembered until the last try ([`SPAN`](Self::SPAN)).
    pub const LONGEST: Duration = Duration::from_secs(15 * 60);

    /// The longest that all tries of an event can take, each with its claim and its wait: 77.5
    /// minutes. A [`HandledStore`](mesh_core::store::HandledStore) must remember at least that long (protocol §3).
    /// Where a handler runs for longer than a claim, what another has handled is recorded anew.
    pub const SPAN: Duration = {
        let rules = ConsumerRules::of(StreamName::Events);
        let tries = match rules.max_deliver {
            Some(tries) => tries,
            // Without a last try there is no span; two tries then are what is remembered for.
            None => 2,
        };
        Self::LONGEST.saturating_add(rules.ack_wait).saturating_mul(tries)
    };

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
