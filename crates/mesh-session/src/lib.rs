#![doc = include_str!("../README.md")]

mod accepted;
mod places;
mod queue;

pub use accepted::{Accepted, Tally, UnderWay};
pub use places::Places;
pub use queue::Queue;
