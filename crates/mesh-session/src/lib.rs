#![doc = include_str!("../README.md")]

mod accepted;
mod places;
mod queue;
mod source;

pub use accepted::{Accepted, Tally, UnderWay};
pub use places::Places;
pub use queue::Queue;
pub use source::{Destination, Source, unreadable};
