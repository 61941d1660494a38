//! What has to be remembered, as ports: a store of each kind is in memory or in a file, and whoever uses
//! it does not see which.
//!
//! Here is what was handled ([`HandledStore`]), so that an event that comes again is not handled again, and
//! what several gateways of a realm share ([`KeyValue`]): leases, sessions, replay marks.

mod bucket;
mod error;
mod handled;
mod key;
mod key_value;

#[cfg(test)]
mod tests;

pub use bucket::{BucketName, BucketNameError};
pub use error::{StoreError, StoreErrorKind};
pub use handled::{Handled, HandledKey, HandledStore};
pub use key::{StoreKey, StoreKeyError};
pub use key_value::{Change, Changes, Entry, Expected, KeyValue, Removed, Revision, Written};
