//! What a seed decides before anything happens: how bad the network is, how often gateways crash.

use rand::Rng as _;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;

/// Realms in the tree, beside two that are set up wrongly.
pub(crate) const REALMS: usize = 50;
/// Milliseconds in which things are done; after that everything heals and comes to rest.
pub(crate) const BUSY: u64 = 40_000;

/// How late timers are in slow worlds, in milliseconds.
pub(crate) const SLOTH: u64 = 400;

#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Of a thousand messages, so many are lost.
    pub(crate) lost: u32,
    /// Of a thousand messages, so many come twice.
    pub(crate) repeated: u32,
    /// The longest way of a message, in milliseconds.
    pub(crate) latency: u64,
    /// How late a timer may be, in milliseconds.
    pub(crate) sloth: u64,
    pub(crate) acts: usize,
    pub(crate) crashes: usize,
    pub(crate) partitions: usize,
    /// Whether gateways let little in, so that they refuse.
    pub(crate) strict: bool,
    /// Whether two routers have each other as parents.
    pub(crate) ring: bool,
}

impl Plan {
    pub(crate) fn new(random: &mut StdRng) -> Self {
        let chance = [0, 0, 20, 100, 300];
        let pick = |random: &mut StdRng| chance.choose(random).copied().unwrap_or(0);
        Self {
            lost: pick(random),
            repeated: pick(random),
            latency: [2, 50, 400, 3_000].choose(random).copied().unwrap_or(2),
            sloth: [0, SLOTH].choose(random).copied().unwrap_or(0),
            acts: random.random_range(80..160),
            crashes: random.random_range(0..12),
            partitions: random.random_range(0..4),
            strict: random.random_ratio(1, 4),
            ring: random.random_ratio(1, 3),
        }
    }
}
