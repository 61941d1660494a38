#![doc = include_str!("../README.md")]

mod random;
mod state;

pub use random::{OsRandom, Random, Seeded};
pub use state::{InMemoryState, MemoryUsage, StateLimits};
