use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use siphasher::sip128::{Hasher128 as _, SipHasher13 as SipHasher13Wide};

/// 128 random bits, passed in, that no outsider knows.
///
/// Tables about realms and message ids hold keyed hashes (SipHash-1-3) in place of texts: an entry
/// has a fixed size whatever a stranger sends, and nobody without the secret can aim two texts at
/// one place. Make it anew with each start.
#[derive(Clone)]
pub struct HashSecret([u8; 16]);

impl HashSecret {
    /// From 16 random bytes.
    #[must_use]
    pub const fn new(random: [u8; 16]) -> Self {
        Self(random)
    }

    /// 64 bits that stand for a realm.
    pub(super) fn realm(&self, realm: &str) -> u64 {
        siphasher::sip::SipHasher13::new_with_key(&self.0).hash(realm.as_bytes())
    }

    /// 128 bits that stand for an id of a realm in one space of ids.
    pub(super) fn mark(&self, space: u8, realm: &str, id: &str) -> MarkKey {
        let mut hasher = SipHasher13Wide::new_with_key(&self.0);
        // The realm's length keeps ("a", "bc") apart from ("ab", "c").
        hasher.write_u64(realm.len() as u64);
        hasher.write_u8(space);
        hasher.write(realm.as_bytes());
        hasher.write(id.as_bytes());
        let hash = hasher.finish128();
        MarkKey(hash.h1, hash.h2)
    }
}

/// Shows that there is one, not which.
impl fmt::Debug for HashSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashSecret(..)")
    }
}

/// The keyed hash of a realm and an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkKey(u64, u64);

impl Hash for MarkKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0);
    }
}

/// For tables whose keys are keyed hashes already: takes the 64 bits as they are.
pub(super) type Prehashed = BuildHasherDefault<Identity>;

/// The hasher of [`Prehashed`].
#[derive(Default)]
pub(super) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Not called for the keys here; right for any.
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
