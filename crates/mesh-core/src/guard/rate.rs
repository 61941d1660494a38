mod buckets;
mod clock;
mod limits;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{InMemoryState, NotKeyed};
use governor::{NotUntil, RateLimiter};
use rustc_hash::FxHashMap;

use self::buckets::Buckets;
use self::clock::PassedIn;
use super::keyed::HashSecret;
use super::{Guard, Inbound, Now, Refusal, Stage, Verdict};
use crate::mx::EdgeCode;
use crate::name::RealmName;

pub use limits::{Quota, RateLimits};

/// Refuses what comes too fast: a token bucket a realm, then one for everything together.
///
/// - A realm over its own limit takes nothing from the common bucket, so it can't shut out others.
///   A message that the common bucket refuses has taken its realm's token.
/// - A refusal later in the chain gives no token back: what is denied costs as much as what is let
///   through.
/// - A realm's name is a claim, and an attacker invents as many as it likes. The table of realms
///   has a fixed number of places; where all are taken by buckets that have not refilled, a new
///   realm is refused. [Listed](RateLimits::listed) realms have buckets of their own beside it.
/// - An answer that is [awaited](Inbound::awaited) takes no token.
/// - A check that passes allocates nothing; a refusal makes the text of its answer.
pub struct Rate {
    clock: PassedIn,
    secret: HashSecret,
    listed: FxHashMap<RealmName, One>,
    others: RateLimiter<u64, Buckets, PassedIn, NoOpMiddleware<Nanos>>,
    places: Buckets,
    total: Option<One>,
    realm_refused: AtomicU64,
    total_refused: AtomicU64,
    table_full: AtomicU64,
}

type One = RateLimiter<NotKeyed, InMemoryState, PassedIn, NoOpMiddleware<Nanos>>;

/// A realm never waits longer than a second for its next token, so a longer wait is the answer of
/// a table without a place.
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

impl Rate {
    /// Refuses what is over these limits.
    #[must_use]
    pub fn new(limits: &RateLimits, secret: HashSecret) -> Self {
        let clock = PassedIn::default();
        let places = Buckets::new(limits.max_realms, clock.clone());
        let one = |quota: Quota| One::new(governed(quota), InMemoryState::default(), clock.clone());
        Self {
            listed: limits
                .listed
                .iter()
                .map(|(realm, quota)| (realm.clone(), one(*quota)))
                .collect(),
            others: RateLimiter::new(governed(limits.per_realm), places.clone(), clock.clone()),
            places,
            total: limits.total.map(one),
            realm_refused: AtomicU64::new(0),
            total_refused: AtomicU64::new(0),
            table_full: AtomicU64::new(0),
            clock,
            secret,
        }
    }

    /// Takes a token of the realm, then one of all, or tells why not.
    fn take(&self, realm: &str) -> Result<(), (&AtomicU64, &'static str, NotUntil<Nanos>)> {
        let own = match self.listed.get(realm) {
            Some(bucket) => bucket.check(),
            None => self.others.check_key(&self.secret.realm(realm)),
        };
        own.map_err(|until| (&self.realm_refused, "this realm sends too fast", until))?;
        match &self.total {
            Some(bucket) => bucket
                .check()
                .map_err(|until| (&self.total_refused, "all realms send too fast", until)),
            None => Ok(()),
        }
    }
}

fn governed(quota: Quota) -> governor::Quota {
    governor::Quota::per_second(quota.per_second).allow_burst(quota.burst)
}

impl Guard for Rate {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn stage(&self) -> Stage {
        Stage::Rate
    }

    fn check(&self, inbound: &Inbound<'_>, now: Now) -> Verdict {
        if inbound.awaited {
            return Verdict::Pass;
        }
        self.clock.advance(now.nanos());
        // No realm has an empty name: what names none shares one bucket.
        let Err((counter, reason, until)) = self.take(inbound.from_realm.unwrap_or("")) else {
            return Verdict::Pass;
        };
        let wait = until.wait_time_from(now.nanos().into());
        if wait > LONGEST_WAIT {
            self.table_full.fetch_add(1, Ordering::Relaxed);
            let message = "too many realms send at once";
            return Verdict::Refuse(Refusal::answered(EdgeCode::RateLimited.as_str(), message));
        }
        counter.fetch_add(1, Ordering::Relaxed);
        // Rounded up: after that many milliseconds there is a token.
        let millis = wait.as_nanos().div_ceil(1_000_000);
        Verdict::Refuse(Refusal::answered(
            EdgeCode::RateLimited.as_str(),
            format!("{reason}; a token in {millis} ms"),
        ))
    }

    fn reclaim(&self, now: Now) -> usize {
        self.clock.advance(now.nanos());
        self.places.sweep()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        vec![
            ("realms", self.places.len() as u64),
            ("realm_refused", count(&self.realm_refused)),
            ("total_refused", count(&self.total_refused)),
            ("table_full", count(&self.table_full)),
        ]
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rate").field("figures", &self.figures()).finish_non_exhaustive()
    }
}
