//! The guards of a gateway: the core's chain, cut where a guard has to wait.

mod closed;
mod outside;
mod set;
mod shelf;
mod waiting;

pub use closed::Closed;
pub(super) use set::{GuardSet, Part};
pub(super) use shelf::Shelf;
pub use waiting::AsyncGuard;
