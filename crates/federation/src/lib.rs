#![doc = include_str!("../README.md")]

pub mod edge;
mod random;

pub use random::{OsRandom, Random, Seeded};
