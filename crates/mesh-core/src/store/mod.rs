//! What has to be remembered, as ports: a store of each kind is in memory or in a file, and whoever uses
//! it does not see which.
//!
//! Here is what was handled ([`HandledStore`]), so that an event that comes again is not handled again.

mod error;
mod handled;

#[cfg(test)]
mod tests;

pub use error::{StoreError, StoreErrorKind};
pub use handled::{Handled, HandledKey, HandledStore};
