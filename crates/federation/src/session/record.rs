use bytes::Bytes;
use mesh_core::guard::Now;
use mesh_core::mx::Profile;
use mesh_core::name::RealmName;
use mesh_core::store::{Entry, StoreError, StoreErrorKind, StoreKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Session, SessionLimits};
use crate::tables::moment;

/// A session as it stands in the store: JSON, with the version of its form first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    v: u8,
    principal: String,
    tab_realm: RealmName,
    profile: String,
    expires_at_ms: i64,
}

const VERSION: u8 = 1;
const SESSION: &str = "session.";

/// The key of a session: a hash of the two, since a principal is any text.
pub(super) fn key(principal: &str, tab_realm: &RealmName) -> Result<StoreKey, StoreError> {
    let mut hash = Sha256::new();
    // No realm holds a line end.
    hash.update(tab_realm.as_str().as_bytes());
    hash.update(b"\n");
    hash.update(principal.as_bytes());
    let digest = hash.finalize().iter().take(16).fold(0, |id, byte| id << 8 | u128::from(*byte));
    // 32 hex digits behind a word are always a key.
    StoreKey::new(format!("{SESSION}{digest:032x}"))
        .map_err(|why| StoreError::new(StoreErrorKind::Other, why.to_string()))
}

/// Whether a key is a session's.
pub(super) fn is_session(key: &StoreKey) -> bool {
    key.as_str().starts_with(SESSION)
}

pub(super) fn write(session: &Session, now: Now) -> Bytes {
    let record = Record {
        v: VERSION,
        principal: session.principal.clone(),
        tab_realm: session.tab_realm.clone(),
        profile: session.profile.name().to_owned(),
        expires_at_ms: session.expires_at(now).as_millis(),
    };
    // Texts and numbers are always JSON.
    serde_json::to_vec(&record).unwrap_or_default().into()
}

/// Reads what stands under `under`, which may be whatever somebody wrote there. The error says why it is no
/// session of that key.
pub(super) fn read(
    under: &StoreKey,
    entry: &Entry,
    limits: &SessionLimits,
    now: Now,
) -> Result<Session, String> {
    let record: Record = serde_json::from_slice(&entry.value).map_err(|error| error.to_string())?;
    if record.v != VERSION {
        return Err(format!("version {}", record.v));
    }
    let profile = Profile::from_name(&record.profile).ok_or("profile")?;
    if record.principal.len() > limits.max_principal_bytes {
        return Err("the principal is too long".to_owned());
    }
    let of = key(&record.principal, &record.tab_realm).map_err(|error| error.to_string())?;
    if of != *under {
        return Err("it stands under another session's key".to_owned());
    }
    Ok(Session {
        principal: record.principal,
        tab_realm: record.tab_realm,
        profile,
        ends: moment(record.expires_at_ms, limits.lifetime, now),
        revision: entry.revision.0,
    })
}
