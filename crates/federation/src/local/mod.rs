//! Inside one realm: components that take commands and say events, and whoever asks them.

mod call;
mod client;
mod error;
mod handler;
mod host;
mod listening;
mod registration;
mod replies;
mod serving;
mod task;

#[cfg(test)]
mod tests;

pub use call::{Call, Remote};
pub use client::{LocalOptions, LocalRequestReplyClient};
pub use error::{HostError, LocalError};
pub use handler::Handler;
pub use host::{ComponentHost, HostOptions};
pub use registration::{HostCounts, HostReport, Registration};
pub use replies::ReplyCounts;

pub(crate) use listening::{Heard, Listening};
pub(crate) use serving::limited;
pub(crate) use task::Task;
