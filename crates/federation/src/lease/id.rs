use std::fmt;
use std::str::FromStr;

use mesh_core::mx::MxPath;
use sha2::{Digest as _, Sha256};

/// The id of a lease: 128 bits that follow from what is heard, where it goes, and in which realm that is.
///
/// So every gateway of a realm gives the same lease the same id, also after a restart. It is no secret:
/// who may refresh a lease is told by the realm that asks.
///
/// Written as 32 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(u128);

/// Why a text is no id of a lease: it is not 32 lower-case hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("lease id: not 32 lower-case hex digits")]
#[non_exhaustive]
pub struct LeaseIdError;

impl LeaseId {
    /// The id of the lease that brings `source` to `sink_path` in `sink_realm`.
    #[must_use]
    pub fn of(source: &MxPath<'_>, sink_realm: &str, sink_path: &MxPath<'_>) -> Self {
        let mut hash = Sha256::new();
        // No name holds a line end.
        for part in ["mesh lease 1", source.as_str(), sink_realm, sink_path.as_str()] {
            hash.update(part.as_bytes());
            hash.update(b"\n");
        }
        let first = hash.finalize().iter().take(16).fold(0, |id, byte| id << 8 | u128::from(*byte));
        Self(first)
    }

    pub(super) const fn bits(self) -> u128 {
        self.0
    }

    pub(super) const fn of_bits(bits: u128) -> Self {
        Self(bits)
    }
}

impl FromStr for LeaseId {
    type Err = LeaseIdError;

    fn from_str(text: &str) -> Result<Self, LeaseIdError> {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() != 32 || !text.bytes().all(digit) {
            return Err(LeaseIdError);
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| LeaseIdError)
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseId({self})")
    }
}
