use mesh_core::guard::{Inbound, ReplayId};
use mesh_core::name::RealmName;
use mesh_core::store::StoreKey;
use sha2::{Digest as _, Sha256};

/// How many bytes of the hash stand in a key.
const BYTES: usize = 20;

/// The key of a message's mark; nothing for one without an id.
pub(super) fn key(realm: &RealmName, inbound: &Inbound<'_>) -> Option<StoreKey> {
    let (space, id) = match inbound.replay_id()? {
        ReplayId::Message(id) => ("message", id),
        ReplayId::Answer(id) => ("answer", id),
    };
    let mut hash = Sha256::new();
    // No realm has an empty name: what names none is counted as one realm.
    for part in ["mesh/replay/1", realm.as_str(), space, inbound.from_realm.unwrap_or(""), id] {
        // The length keeps ("a", "bc") apart from ("ab", "c").
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digits = hash.finalize().into_iter().take(BYTES).flat_map(|byte| {
        let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
        [digit(byte >> 4), digit(byte & 0xf)]
    });
    StoreKey::new(digits.collect::<String>()).ok()
}
