#![doc = include_str!("../README.md")]

mod random;
pub mod router;

pub use random::{OsRandom, Random, Seeded};
