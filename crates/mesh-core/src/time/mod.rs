//! Moments: milliseconds since the Unix epoch, and their RFC 3339 text (protocol §3).
//!
//! Nothing here reads a clock; whoever needs the present is given it.
//!
//! ```
//! use mesh_core::time::Timestamp;
//!
//! let time: Timestamp = "2026-03-01T12:00:00.25+02:00".parse()?;
//! assert_eq!(time.to_string(), "2026-03-01T10:00:00.250Z");
//! assert_eq!(time.as_millis(), 1_772_359_200_250);
//! # Ok::<(), mesh_core::time::TimestampError>(())
//! ```

mod backoff;
mod rfc3339;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use backoff::Backoff;
pub use rfc3339::{TimestampError, TimestampProblem};

/// A moment: milliseconds since 1970-01-01T00:00:00Z, within the years 0000–9999 that RFC 3339
/// can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00.000Z.
    pub const UNIX_EPOCH: Self = Self(0);
    /// 0000-01-01T00:00:00.000Z.
    pub const MIN: Self = Self(-62_167_219_200_000);
    /// 9999-12-31T23:59:59.999Z.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// The moment this many milliseconds after the epoch; a count beyond [`MIN`](Self::MIN) or
    /// [`MAX`](Self::MAX) becomes that. [`TryFrom`] refuses such a count instead.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        if millis < Self::MIN.0 {
            Self::MIN
        } else if millis > Self::MAX.0 {
            Self::MAX
        } else {
            Self(millis)
        }
    }

    /// Milliseconds since the epoch, negative before it.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This moment and `by` later, at most [`MAX`](Self::MAX). Below a millisecond is cut off.
    #[must_use]
    pub fn saturating_add(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_add(by))
    }

    /// This moment and `by` earlier, at least [`MIN`](Self::MIN). Below a millisecond is cut off.
    #[must_use]
    pub fn saturating_sub(self, by: Duration) -> Self {
        let by = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.0.saturating_sub(by))
    }

    /// How long after `earlier` this moment is; zero if it is not after it.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl TryFrom<i64> for Timestamp {
    type Error = TimestampError;

    fn try_from(millis: i64) -> Result<Self, TimestampError> {
        let clamped = Self::from_millis(millis);
        if clamped.0 == millis {
            Ok(clamped)
        } else {
            Err(TimestampError { problem: TimestampProblem::Range, offset: 0 })
        }
    }
}
