use std::time::Duration;

use crate::name::RealmName;

/// How much is remembered against replays.
///
/// Marks are held for listed realms, each in a share of its own, and for all others together in
/// the pool. [`marks`](Self::marks) is the most there can be, and
/// [`bytes`](Self::bytes) the most memory that they can take.
///
/// A rate limit of `r` messages a second with burst `b` leaves at most `r × 300 + b` marks within
/// five minutes, since what it refuses is released. The defaults are above that for the default
/// [`RateLimits`](super::super::RateLimits): a realm's share is never full before its rate limit
/// has refused, and neither is the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplayLimits {
    /// How long a mark is held. 5 minutes unless told (protocol §8).
    pub lifetime: Duration,
    /// The most marks of one realm. 16,384 unless told.
    pub per_realm: usize,
    /// The most marks of all realms that are not listed. 163,840 unless told.
    pub pool: usize,
    /// Realms with a share of their own, of `per_realm` marks. None unless told.
    pub listed: Vec<RealmName>,
    /// The longest id, in bytes. 256 unless told.
    pub max_id_bytes: usize,
}

impl Default for ReplayLimits {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(300),
            per_realm: 16_384,
            pool: 163_840,
            listed: Vec::new(),
            max_id_bytes: 256,
        }
    }
}

impl ReplayLimits {
    /// The most marks there can be.
    #[must_use]
    pub fn marks(&self) -> usize {
        self.listed.len().saturating_mul(self.per_realm).saturating_add(self.pool)
    }

    /// The most bytes that the tables can take: 450 a mark (every mark of another realm, the tables
    /// about to shrink), 150 a listed realm, and 160 KiB. Full tables of few realms take about
    /// 150 a mark.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.marks()
            .saturating_mul(450)
            .saturating_add(self.listed.len().saturating_mul(150))
            .saturating_add(160 * 1024)
    }
}
