#![doc = include_str!("../README.md")]

mod accepted;
mod line;
mod places;
mod queue;
mod source;
mod supervise;
#[cfg(test)]
mod tests;

pub use accepted::{Accepted, Tally, UnderWay};
pub use line::{Line, Phase, Session, Stage, closed, deadline, runtime_ended};
pub use places::Places;
pub use queue::Queue;
pub use source::{Destination, Source, document, unreadable};
pub use supervise::supervise;
