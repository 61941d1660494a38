use std::fmt;

use mesh_core::mx::ReplyId;
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};

/// Where the random bits of ids come from: the operating system in earnest, a seed in a test that is to
/// come out the same each time.
pub trait Random: Send + Sync + fmt::Debug {
    /// 128 bits.
    fn bits(&self) -> [u8; 16];

    /// A fresh id for a message or a correlation: 32 lower-case hex digits.
    fn id(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.bits()))
    }

    /// A fresh id for a reply topic.
    fn reply_id(&self) -> ReplyId {
        ReplyId(self.bits())
    }
}

/// The operating system's random bits, through a generator that it seeds.
pub struct OsRandom(Mutex<StdRng>);

impl OsRandom {
    /// A generator of its own.
    #[must_use]
    pub fn new() -> Self {
        Self(Mutex::new(StdRng::from_os_rng()))
    }
}

impl Default for OsRandom {
    fn default() -> Self {
        Self::new()
    }
}

impl Random for OsRandom {
    fn bits(&self) -> [u8; 16] {
        fill(&self.0)
    }
}

impl fmt::Debug for OsRandom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OsRandom").finish_non_exhaustive()
    }
}

/// The same bits for the same seed. For tests: who knows the seed knows every id.
pub struct Seeded(Mutex<StdRng>);

impl Seeded {
    /// A generator of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }
}

impl Random for Seeded {
    fn bits(&self) -> [u8; 16] {
        fill(&self.0)
    }
}

impl fmt::Debug for Seeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seeded").finish_non_exhaustive()
    }
}

fn fill(generator: &Mutex<StdRng>) -> [u8; 16] {
    let mut bits = [0; 16];
    generator.lock().fill_bytes(&mut bits);
    bits
}
