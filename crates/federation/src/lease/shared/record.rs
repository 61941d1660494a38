use std::time::Duration;

use bytes::Bytes;
use mesh_core::guard::Now;
use mesh_core::mx::{MxPath, Plane, Profile};
use mesh_core::name::RealmName;
use mesh_core::store::{Entry, StoreKey, StoreKeyError};
use serde::{Deserialize, Serialize};

use super::super::{Lease, LeaseId, LeaseLimits, check_source};
use super::LEASE;
use crate::tables::{millis, moment};

/// A lease as it stands in the store: JSON, with the version of its form first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    v: u8,
    source_path: String,
    sink_realm: RealmName,
    sink_path: String,
    profile: String,
    expires_at_ms: i64,
    keeper: String,
    /// Its owner, or an operator, has ended it through another gateway than its keeper, who is to take the
    /// entry away. Nobody else may keep the lease before that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    released: bool,
}

const VERSION: u8 = 1;

/// Why an entry is no lease.
#[derive(Debug, thiserror::Error)]
#[error("an entry of the store of leases can't be read: {0}")]
pub(super) struct Unreadable(String);

/// What an entry says.
pub(super) enum Standing {
    /// A lease, perhaps one that has ended.
    Lease(Lease),
    /// A lease that is over, and that its keeper is to take away.
    Released(Lease),
}

/// The key of a lease.
pub(super) fn key(id: LeaseId) -> Result<StoreKey, StoreKeyError> {
    StoreKey::new(format!("{LEASE}{id}"))
}

/// The lease that a key names; `None` for a key of something else.
pub(super) fn id(key: &StoreKey) -> Option<LeaseId> {
    key.as_str().strip_prefix(LEASE)?.parse().ok()
}

pub(super) fn write(lease: &Lease, released: bool, now: Now) -> Bytes {
    let record = Record {
        v: VERSION,
        source_path: lease.source.as_str().to_owned(),
        sink_realm: lease.sink_realm.clone(),
        sink_path: lease.sink_path.as_str().to_owned(),
        profile: lease.profile.name().to_owned(),
        expires_at_ms: lease.expires_at(now).as_millis(),
        keeper: lease.keeper.clone(),
        released,
    };
    // Texts and numbers are always JSON.
    serde_json::to_vec(&record).unwrap_or_default().into()
}

/// Reads what stands under the key of `id`. Whoever may write to the bucket may have written anything:
/// nothing is taken that a subscription would not have been given.
pub(super) fn read(
    realm: &RealmName,
    id: LeaseId,
    entry: &Entry,
    limits: &LeaseLimits,
    now: Now,
) -> Result<Standing, Unreadable> {
    let unreadable = |why: &dyn ToString| Unreadable(why.to_string());
    let record: Record = serde_json::from_slice(&entry.value).map_err(|why| unreadable(&why))?;
    if record.v != VERSION {
        return Err(Unreadable(format!("version {}", record.v)));
    }
    let source = MxPath::new(record.source_path).map_err(|why| unreadable(&why))?;
    check_source(realm, &source).map_err(|why| unreadable(&why))?;
    let sink_path = MxPath::new(record.sink_path).map_err(|why| unreadable(&why))?;
    if sink_path.plane() != Plane::Emits {
        return Err(unreadable(&"the sink is no event's path"));
    }
    let profile = Profile::from_name(&record.profile).ok_or_else(|| unreadable(&"profile"))?;
    let lease = Lease {
        source,
        sink_realm: record.sink_realm,
        sink_path,
        profile,
        ends: moment(record.expires_at_ms, limits.longest, now),
        keeper: record.keeper,
        revision: entry.revision.0,
    };
    if lease.id() != id {
        return Err(unreadable(&"it stands under another lease's key"));
    }
    Ok(if record.released { Standing::Released(lease) } else { Standing::Lease(lease) })
}

/// How long the store is to keep the entry: beyond the end, so that the end can be told.
pub(super) fn lifetime(lease: &Lease, keep_ended: Duration, now: Now) -> Duration {
    let left = lease.ends.saturating_sub(millis(now.monotonic));
    Duration::from_millis(left).saturating_add(keep_ended).max(Duration::from_secs(1))
}
