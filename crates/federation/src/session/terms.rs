use std::time::Duration;

use mesh_core::guard::Now;
use mesh_core::mx::Profile;
use mesh_core::name::RealmName;
use mesh_core::time::Timestamp;

use crate::tables::wall;

/// How long sessions last, and how many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionLimits {
    /// How long one lasts after it is registered, and after each heartbeat. 30 s unless told (protocol
    /// §8).
    pub lifetime: Duration,
    /// The most tabs of one principal. 64 unless told.
    pub per_principal: usize,
    /// The most principals that one realm may be a tab of. 1,000 unless told.
    pub per_realm: usize,
    /// The most sessions in all. 1,000,000 unless told.
    pub total: usize,
    /// The longest key of a principal, in bytes. 512 unless told.
    pub max_principal_bytes: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(30),
            per_principal: 64,
            per_realm: 1_000,
            total: 1_000_000,
            max_principal_bytes: 512,
        }
    }
}

/// One session: a realm in which a principal is present.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "stores and facades build and read it")]
pub struct Session {
    /// The key of the principal ([`principal_key`](mesh_core::mx::principal_key)).
    pub principal: String,
    /// The realm.
    pub tab_realm: RealmName,
    /// In which profile the realm registered, and is told something.
    pub profile: Profile,
    /// When it ends, on the monotonic clock, in milliseconds.
    pub ends: u64,
    /// Which writing of the shared store this is; 0 without one.
    pub revision: u64,
}

impl Session {
    /// When it ends, on the wall clock.
    #[must_use]
    pub fn expires_at(&self, now: Now) -> Timestamp {
        wall(self.ends, now)
    }
}

/// Why a session was not noted or kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionRefusal {
    /// The principal has as many tabs as it may.
    #[error("the principal has as many tabs as it may")]
    PrincipalFull,
    /// The realm is a tab of as many principals as it may be.
    #[error("the realm has as many sessions as it may")]
    RealmFull,
    /// There are as many sessions as there may be.
    #[error("there are as many sessions as there may be")]
    Full,
    /// The key of the principal is too long.
    #[error("the key of the principal is too long")]
    PrincipalTooLong,
    /// The principal has no session in this realm, or it has ended.
    #[error("the principal has no session in this realm")]
    NotFound,
}
