use std::time::Duration;

/// Pauses before one attempt after another: the longest doubles with each attempt, and each is chosen at
/// random from nothing to that, so that those who lost a server together don't come back together.
///
/// ```
/// use std::time::Duration;
/// use mesh_core::time::Backoff;
///
/// let backoff = Backoff { min: Duration::from_millis(100), max: Duration::from_secs(10) };
/// assert_eq!(backoff.longest(3), Duration::from_millis(800));
/// assert_eq!(backoff.longest(40), Duration::from_secs(10));
/// assert_eq!(backoff.pause(3, 0), Duration::ZERO);
/// assert_eq!(backoff.pause(3, u32::MAX), Duration::from_millis(800));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "two bounds and no more")]
pub struct Backoff {
    /// The longest pause before the first attempt.
    pub min: Duration,
    /// The longest of all.
    pub max: Duration,
}

impl Backoff {
    /// The longest pause before this attempt, from 0.
    #[must_use]
    pub fn longest(&self, attempt: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempt).unwrap_or(u32::MAX);
        self.min.saturating_mul(factor).min(self.max)
    }

    /// The pause before this attempt, from 0; `random` is any of its values, each as likely as any other.
    #[must_use]
    pub fn pause(&self, attempt: u32, random: u32) -> Duration {
        self.longest(attempt).mul_f64(f64::from(random) / f64::from(u32::MAX))
    }
}
