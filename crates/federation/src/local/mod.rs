//! Inside one realm: components that take commands and say events, and whoever asks them.

mod call;
mod error;
mod handler;
mod host;
mod listening;
mod registration;
mod serving;
mod task;

pub use call::{Call, Remote};
pub use error::HostError;
pub use handler::Handler;
pub use host::{ComponentHost, HostOptions};
pub use registration::{HostCounts, HostReport, Registration};

pub(crate) use listening::{Heard, Listening};
pub(crate) use task::Task;
