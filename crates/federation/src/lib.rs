#![doc = include_str!("../README.md")]

mod random;

pub use random::{OsRandom, Random, Seeded};
