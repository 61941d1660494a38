#![doc = include_str!("../README.md")]

mod error;
mod file;
mod handled;
mod keeper;
mod key;
mod options;
mod state;
mod store;
mod time;
mod writer;

#[cfg(test)]
mod tests;

pub use error::OpenError;
pub use options::{HandledBounds, StoreOptions};
pub use state::{BucketBounds, StoreBucket};
pub use store::{HandledCounts, Store};
