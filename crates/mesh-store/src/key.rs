use mesh_core::store::HandledKey;
use sha2::{Digest as _, Sha256};

/// What stands in the file for a key: the first 128 bits of its SHA-256. An emitter who chooses its ids can
/// make two of its own alike, with 2⁶⁴ tries, and none that is like another's.
pub(crate) type Digest = [u8; 16];

pub(crate) fn digest(key: &HandledKey) -> Digest {
    let HandledKey { consumer, handler, module, event } = key;
    digest_of([consumer.as_str(), handler.as_str(), module.as_str(), event.as_str()])
}

/// The same of any texts without line ends.
pub(crate) fn digest_of<const PARTS: usize>(parts: [&str; PARTS]) -> Digest {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        // No part holds one, so that no two keys are one text.
        hash.update("\n");
    }
    let mut digest = Digest::default();
    for (into, from) in digest.iter_mut().zip(hash.finalize()) {
        *into = from;
    }
    digest
}
