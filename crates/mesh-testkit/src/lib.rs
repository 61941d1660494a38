#![doc = include_str!("../README.md")]

mod cases;
pub mod clock;
pub mod differential;
pub mod expect;
pub mod fixtures;
pub mod model;
#[cfg(all(unix, feature = "servers"))]
pub mod servers;
pub mod strategies;
pub mod suite;
