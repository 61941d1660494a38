use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::name::RealmName;

/// A token bucket: so many at once, refilled at so many a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a bucket has these two numbers")]
pub struct Quota {
    /// The most messages at once.
    pub burst: NonZeroU32,
    /// Messages a second from then on.
    pub per_second: NonZeroU32,
}

impl Quota {
    /// A quota, or nothing where one of the numbers is zero.
    #[must_use]
    pub const fn new(burst: u32, per_second: u32) -> Option<Self> {
        match (NonZeroU32::new(burst), NonZeroU32::new(per_second)) {
            (Some(burst), Some(per_second)) => Some(Self { burst, per_second }),
            _ => None,
        }
    }

    /// For defaults that are written in the source.
    const fn of(burst: u32, per_second: u32) -> Self {
        match Self::new(burst, per_second) {
            Some(quota) => quota,
            None => Self { burst: NonZeroU32::MIN, per_second: NonZeroU32::MIN },
        }
    }
}

/// How much may come in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RateLimits {
    /// The limit of each realm that is not listed. A burst of 100, then 50 a second, unless told.
    pub per_realm: Quota,
    /// The limit of everything together. A burst of 1,000, then 500 a second, unless told.
    pub total: Option<Quota>,
    /// Realms with limits of their own. They need no place among `max_realms`.
    pub listed: BTreeMap<RealmName, Quota>,
    /// The most realms, beside the listed ones, that can be counted at a time. 4,096 unless told.
    pub max_realms: usize,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            per_realm: Quota::of(100, 50),
            total: Some(Quota::of(1_000, 500)),
            listed: BTreeMap::new(),
            max_realms: 4_096,
        }
    }
}
