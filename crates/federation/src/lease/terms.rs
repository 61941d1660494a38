use std::time::Duration;

use mesh_core::guard::Now;
use mesh_core::mx::{MxPath, Profile};
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;

use super::LeaseId;
use crate::tables::{millis, wall};

/// How long leases last, and how many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseLimits {
    /// How long one lasts where the subscriber does not say. 60 s unless told (protocol §8).
    pub lifetime: Duration,
    /// The longest that one can ask for; who asks for more gets this. An hour unless told (protocol §8).
    pub longest: Duration,
    /// The most leases of one realm. 1,000 unless told.
    pub per_realm: usize,
    /// The most leases of all realms. 1,000,000 unless told.
    pub total: usize,
    /// The most distinct sources that there are leases of: each is a subscription on the local bus, also
    /// where nothing is ever emitted. 20,000 unless told.
    pub sources: usize,
}

impl Default for LeaseLimits {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(60),
            longest: Duration::from_secs(3600),
            per_realm: 1_000,
            total: 1_000_000,
            sources: 20_000,
        }
    }
}

impl LeaseLimits {
    /// When a lease ends that is asked for now, on the monotonic clock.
    pub(super) fn end(&self, asked: Option<Duration>, now: Now) -> u64 {
        let lasts = asked.unwrap_or(self.lifetime).min(self.longest);
        millis(now.monotonic).saturating_add(millis(lasts))
    }
}

/// What a realm asks for when it subscribes.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "all of it is asked each time")]
pub struct LeaseAsk<'a> {
    /// What is to be heard: a path of this realm that [`check_source`](super::check_source) takes.
    pub source: MxPath<'a>,
    /// Who asks: what the gateway vouches for, never what the request says.
    pub sink_realm: RealmName,
    /// Where in that realm the events go.
    pub sink_path: MxPath<'a>,
    /// In which profile it asks, and is told.
    pub profile: Profile,
    /// For how long, where it says.
    pub lease: Option<Duration>,
}

impl LeaseAsk<'_> {
    /// The id of the lease that is asked for.
    #[must_use]
    pub fn id(&self) -> LeaseId {
        LeaseId::of(&self.source, self.sink_realm.as_str(), &self.sink_path)
    }
}

/// One lease.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_structs, reason = "stores and facades build and read it")]
pub struct Lease {
    /// What is heard.
    pub source: MxPath<'static>,
    /// Who hears it.
    pub sink_realm: RealmName,
    /// Where in that realm it goes.
    pub sink_path: MxPath<'static>,
    /// In which profile.
    pub profile: Profile,
    /// When it ends, on the monotonic clock, in milliseconds.
    pub ends: u64,
    /// Which gateway forwards its events.
    pub keeper: String,
    /// Which writing of the shared store this is; 0 without one.
    pub revision: u64,
}

impl Lease {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> LeaseId {
        LeaseId::of(&self.source, self.sink_realm.as_str(), &self.sink_path)
    }

    /// When it ends, on the wall clock.
    #[must_use]
    pub fn expires_at(&self, now: Now) -> Timestamp {
        wall(self.ends, now)
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&self, now: Now) -> bool {
        self.ends <= millis(now.monotonic)
    }
}

/// Why a lease was not given, extended or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseRefusal {
    /// The realm has as many as it may.
    #[error("the realm has as many leases as it may")]
    RealmFull,
    /// All realms together have as many as they may.
    #[error("there are as many leases as there may be")]
    Full,
    /// There are leases of as many sources as there may be.
    #[error("there are leases of as many sources as there may be")]
    SourcesFull,
    /// There is none of this id, or it is not the asking realm's: which, is not told.
    #[error("the realm has no lease of this id")]
    NotFound,
    /// Another lease has the same 128 bits.
    #[error("another lease has the same id")]
    Collision,
}
