use std::time::Duration;

use super::{Guard, Inbound, Now, Refusal, Stage, Verdict};

/// Drops what has expired: from `timestamp + ttlMs` on, by the wall clock (protocol §8).
///
/// Without a timestamp or without `ttlMs` a message does not expire. A hop count is no expiry.
#[derive(Debug, Clone, Copy, Default)]
pub struct Expiry {
    leeway_ms: i64,
}

impl Expiry {
    /// Lets a message live `leeway` longer, for senders whose clocks are behind.
    #[must_use]
    pub fn with_leeway(leeway: Duration) -> Self {
        Self { leeway_ms: i64::try_from(leeway.as_millis()).unwrap_or(i64::MAX) }
    }
}

impl Guard for Expiry {
    fn name(&self) -> &'static str {
        "expiry"
    }

    fn stage(&self) -> Stage {
        Stage::Expiry
    }

    fn check(&self, inbound: &Inbound<'_>, now: Now) -> Verdict {
        let (Some(sent), Some(ttl_ms)) = (inbound.timestamp, inbound.ttl_ms) else {
            return Verdict::Pass;
        };
        let end = sent
            .as_millis()
            .saturating_add(i64::try_from(ttl_ms).unwrap_or(i64::MAX))
            .saturating_add(self.leeway_ms);
        if now.wall.as_millis() >= end {
            Verdict::Refuse(Refusal::silent("expired"))
        } else {
            Verdict::Pass
        }
    }
}
