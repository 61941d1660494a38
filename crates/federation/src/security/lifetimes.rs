use std::time::Duration;

use mesh_core::time::Timestamp;

use super::Refused;
use super::claims::Claims;

/// How long a message is remembered against replays (protocol §8): nothing may be valid for longer.
const REMEMBERED: u64 = 300;

/// How long a token may be valid, and how far two realms' clocks may be apart.
///
/// A token is taken from `iat − leeway` to `exp + leeway`. That is never longer than the five minutes for
/// which a message is remembered against replays, so a token can't outlive the memory of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    longest: u64,
    leeway: u64,
}

/// Why there are no such [`Lifetimes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LifetimesError {
    /// The leeway is above 30 s.
    #[error("a leeway of more than 30 s")]
    Leeway,
    /// The longest lifetime and twice the leeway are above 5 minutes, or the lifetime is no second.
    #[error("a token's lifetime and twice the leeway must be 1 s to 5 min together")]
    Longest,
}

impl Lifetimes {
    /// Tokens of at most `longest` (from `iat` to `exp`), clocks at most `leeway` apart; whole seconds.
    ///
    /// # Errors
    /// [`LifetimesError`].
    pub fn new(longest: Duration, leeway: Duration) -> Result<Self, LifetimesError> {
        let (longest, leeway) = (longest.as_secs(), leeway.as_secs());
        if leeway > 30 {
            return Err(LifetimesError::Leeway);
        }
        if longest == 0 || longest.saturating_add(2 * leeway) > REMEMBERED {
            return Err(LifetimesError::Longest);
        }
        Ok(Self { longest, leeway })
    }

    pub(super) fn check(self, claims: &Claims<'_>, now: Timestamp) -> Result<(), Refused> {
        let now = u64::try_from(now.as_millis()).unwrap_or(0) / 1000;
        let latest = now.saturating_add(self.leeway);
        if claims.iat > latest || claims.nbf.is_some_and(|nbf| nbf > latest) {
            return Err(Refused::NotYet);
        }
        if now >= claims.exp.saturating_add(self.leeway) {
            return Err(Refused::Expired);
        }
        if claims.exp.saturating_sub(claims.iat) > self.longest {
            return Err(Refused::Lifetime);
        }
        Ok(())
    }
}

/// At most four minutes, and 30 s of leeway.
impl Default for Lifetimes {
    fn default() -> Self {
        Self { longest: 240, leeway: 30 }
    }
}
